"""Evacuation: an earlier API for evictions, whose requesters are finalizers and whose end is its removal.

The structs are the one source of the kind's schema, as those of EvictionRequest are. Limits are described
here and enforced on admission: a cache must be able to hold what a server once let through.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec

from vacate.api.integers import Int32
from vacate.api.types.evictionrequest import (
    ALLOW,
    FORBID,
    MAX_CONDITIONS,
    MAX_INTERCEPTORS,
    MAX_MESSAGE,
    LocalPodReference,
    RequestCondition,
    described,
)
from vacate.api.types.meta import ObjectMeta, Projection, check_times

MIN_DEADLINE_SECONDS, MAX_DEADLINE_SECONDS, DEFAULT_DEADLINE_SECONDS = 600, 21_600, 1_800
MAX_PRIORITY = 100_000
MAX_NAME_PREFIX = 150
"""How many characters of the pod's name an Evacuation's name has."""
INSTIGATOR = "evacuation.coordination.k8s.io/instigator_"
"""How the finalizers begin that say who wants the pod evacuated."""
MAX_INSTIGATOR = 63 - len("instigator_")
"""How long the name of an instigator may be: what follows the slash of a finalizer has 63 characters."""


class Evacuator(Projection, frozen=True):
    """One evacuator of the pod."""

    evacuator_class: Annotated[
        str,
        described(
            "DNS subdomain that identifies the evacuator, such as backup.example.com.",
            required=True,
            minLength=1,
            maxLength=253,
        ),
    ] = ""
    priority: Annotated[
        Int32,
        described(
            "Evacuators of higher priority have their turn first. The controller that manages the pod has "
            "the priority 10000.",
            required=True,
            minimum=0,
            maximum=MAX_PRIORITY,
        ),
    ] = 0
    role: Annotated[
        str | None,
        described(
            "Role of the evacuator, as information for other evacuators. The role controller is reserved for "
            "the controller that manages the pod.",
            maxLength=253,
        ),
    ] = None


class EvacuationSpec(Projection, frozen=True):
    """Which pod is evacuated, by which evacuators, and their progress deadline."""

    pod_ref: Annotated[
        LocalPodReference | None, described("The pod to evacuate. Immutable.", required=True)
    ] = None
    evacuators: Annotated[
        list[Evacuator],
        described(
            "The evacuators that prepare the pod, one after the other, by descending priority. Filled in "
            "from the pod when the Evacuation is created, in addition to those that its creator names. "
            "Immutable.",
            maxItems=MAX_INTERCEPTORS,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["evacuatorClass"]},
        ),
    ] = msgspec.field(default_factory=list)
    progress_deadline_seconds: Annotated[
        Int32,
        described(
            "How long the active evacuator may go without reporting progress, in seconds. The turn is then "
            "handed over to the next one; after the last one the pod is evicted. Immutable.",
            required=True,
            minimum=MIN_DEADLINE_SECONDS,
            maximum=MAX_DEADLINE_SECONDS,
            default=DEFAULT_DEADLINE_SECONDS,
        ),
    ] = DEFAULT_DEADLINE_SECONDS


class EvacuationStatus(Projection, frozen=True):
    """The progress of the evacuation."""

    active_evacuator_class: Annotated[
        str | None,
        described(
            "The evacuator whose turn it is. It accepts the turn by moving evacuationProgressTimestamp "
            "forward, or hands it over by setting activeEvacuatorCompleted. Written by the controller.",
            maxLength=253,
        ),
    ] = None
    active_evacuator_completed: Annotated[
        bool,
        described(
            "Set to true by the active evacuator when it has prepared the pod, or has nothing to do. The "
            "turn is then handed over to the next one; after the last one the pod is evicted."
        ),
    ] = False
    evacuation_progress_timestamp: Annotated[
        dt.datetime | None,
        described(
            "When the active evacuator last reported progress. May be at most ten seconds in the future, to "
            "allow for clock skew."
        ),
    ] = None
    expected_evacuation_finish_time: Annotated[
        dt.datetime | None, described("When the active evacuator expects to finish, if it knows.")
    ] = None
    evacuation_cancellation_policy: Annotated[
        str,
        described(
            "Whether the evacuation may be cancelled. While it is Forbid, the Evacuation cannot be deleted "
            "as long as the pod exists. Evacuators set it; it is kept when the turn is handed over.",
            required=True,
            enum=[ALLOW, FORBID],
            default=ALLOW,
        ),
    ] = ALLOW
    failed_eviction_counter: Annotated[
        Int32,
        described(
            "How many evictions the API server refused, for example because of a disruption budget. Never "
            "decreases. Written by the controller.",
            required=True,
            minimum=0,
            default=0,
        ),
    ] = 0
    message: Annotated[
        str,
        described(
            "Progress for people, in one sentence. May be empty.",
            required=True,
            maxLength=MAX_MESSAGE,
            default="",
        ),
    ] = ""
    conditions: Annotated[
        list[RequestCondition],
        described(
            "Conditions of the evacuation. The controller writes Complete, Progressing, InterceptorAssigned, "
            "Admitted and Forced. Evacuators may add their own.",
            maxItems=MAX_CONDITIONS,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        check_times(self.evacuation_progress_timestamp, self.expected_evacuation_finish_time)


class Evacuation(Projection, frozen=True):
    """Requests the evacuation of a pod, and reports its progress."""

    metadata: Annotated[
        ObjectMeta,
        described(
            "The name is the UID of the pod, a hyphen, and the first 150 characters of the pod's name. The "
            "pod's labels are merged in and win over those of the Evacuation. Finalizers that begin with "
            f"{INSTIGATOR} name the requesters."
        ),
    ] = msgspec.field(default_factory=ObjectMeta)
    spec: Annotated[EvacuationSpec, described("What is requested.", required=True)] = msgspec.field(
        default_factory=EvacuationSpec
    )
    status: Annotated[EvacuationStatus, described("Progress of the evacuation.")] = msgspec.field(
        default_factory=EvacuationStatus
    )
