"""EvictionRequest: the contract between requesters of an eviction and interceptors, which prepare for it.

The structs are the one source of the kind's schema: descriptions and limits stand beside the fields, and the
OpenAPI document, the CRD and the reference page are made from them. Limits are declared, not enforced, here:
a cache must be able to hold what a server once let through.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from vacate.api.integers import Int32, Int64, span
from vacate.api.kinds import EVICTIONREQUESTS, Kind
from vacate.api.times import parse_time
from vacate.api.types.meta import ObjectMeta, Projection, check_times, condition

SOFT = "Soft"
ALLOW, FORBID = "Allow", "Forbid"

COMPLETE = "Complete"
ADMITTED = "Admitted"
INTERCEPTOR_ASSIGNED = "InterceptorAssigned"
PROGRESSING = "Progressing"
FORCED = "Forced"
OWN_CONDITIONS = (COMPLETE, ADMITTED, INTERCEPTOR_ASSIGNED, PROGRESSING, FORCED)
"""The condition types that the controller writes; all others belong to interceptors."""

MAX_INTERCEPTORS = 100
MAX_REQUESTERS = 100
MAX_CONDITIONS = 100
MAX_MESSAGE = 32_768
MIN_DEADLINE_SECONDS, MAX_DEADLINE_SECONDS, DEFAULT_DEADLINE_SECONDS = 600, 86_400, 1_800
_MIN_DEADLINE = 60
ADMITTED_STAMP = "vacate.dev/admitted"
"""The annotation that admission leaves on every request that passed it."""
IGNORED_REGISTRATION = "vacate.dev/ignored-registration"
"""The annotation that says why the pod's registration of interceptors was taken for none."""
SUPERSEDES = "vacate.dev/supersedes"
"""The annotation of a request that took over the requesters of an earlier one: the UID of that one."""
RETRY = "vacate.dev/retry"
"""The annotation by which a user asks for another try of a request that is blocked: the time of asking."""
SKIP = "vacate.dev/skip"
"""The annotation by which a user ends the turns of interceptors that do not respond: names with commas."""
PUSHED_BY = "vacate.dev/pushed-by"
"""The annotation that admission leaves when one of the two above is written: the user who did."""
SHUTDOWN_DEADLINE = "vacate.dev/shutdown-deadline"
"""The annotation that says when a node that goes down ends the pod, whatever its interceptors do."""


def shutdown_deadline(annotations: Mapping[str, str]) -> dt.datetime | None:
    """The moment, or None where the node does not go down or the annotation cannot be read."""
    try:
        return parse_time(annotations[SHUTDOWN_DEADLINE])
    except (KeyError, ValueError):
        return None


def described(description: str, *, required: bool = False, **schema: Any) -> msgspec.Meta:
    """What users and tools read about a field; `schema` is JSON schema beyond the type."""
    extra = {"required": True} if required else None
    return msgspec.Meta(description=description, extra_json_schema=schema or None, extra=extra)


_LIST_MAP_BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
_LIST_MAP_BY_TYPE = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}


class LocalPodReference(Projection, frozen=True):
    """One pod of the request's own namespace."""

    name: Annotated[
        str,
        described(
            "Name of the pod, in the namespace of the request.", required=True, minLength=1, maxLength=253
        ),
    ] = ""
    uid: Annotated[
        str,
        described(
            "UID of the pod. The request does not apply to another pod of the same name.",
            required=True,
            minLength=1,
            maxLength=253,
        ),
    ] = ""


class EvictionTarget(Projection, frozen=True):
    """What is to be evicted."""

    pod_ref: Annotated[
        LocalPodReference | None,
        described("The pod to evict. Required: pods are the only targets so far.", required=True),
    ] = None


class Requester(Projection, frozen=True):
    """One requester of the eviction."""

    name: Annotated[
        str,
        described(
            "DNS subdomain that identifies the requester, such as drain.example.com.",
            required=True,
            minLength=1,
            maxLength=253,
        ),
    ] = ""


class Interceptor(Projection, frozen=True):
    """One interceptor of the eviction."""

    name: Annotated[
        str,
        described(
            "DNS subdomain that identifies the interceptor, such as backup.example.com.",
            required=True,
            minLength=1,
            maxLength=253,
        ),
    ] = ""


class EvictionRequestSpec(Projection, frozen=True):
    """What to evict, who requests it, and the heartbeat deadline of interceptors."""

    type: Annotated[
        str,
        described(
            "The type of eviction. Soft, the only type, gives each interceptor all the time that it needs as "
            "long as it sends heartbeats in time, and respects disruption budgets in the end. Immutable.",
            enum=[SOFT],
            default=SOFT,
        ),
    ] = SOFT
    target: Annotated[EvictionTarget, described("What to evict. Immutable.", required=True)] = msgspec.field(
        default_factory=EvictionTarget
    )
    requesters: Annotated[
        list[Requester],
        described(
            "Who requests the eviction: at least one when the request is created. A requester withdraws by "
            "removing its own name; an empty list cancels the request. Immutable while the cancellation "
            "policy is Forbid, and once the request is complete.",
            maxItems=MAX_REQUESTERS,
            **_LIST_MAP_BY_NAME,
        ),
    ] = msgspec.field(default_factory=list)
    interceptors: Annotated[
        list[Interceptor],
        described(
            "The interceptors that prepare the pod, one after the other, the last of the list first. Filled "
            "in from the pod when the request is created; a requester must not set it. Immutable.",
            maxItems=MAX_INTERCEPTORS,
            **_LIST_MAP_BY_NAME,
        ),
    ] = msgspec.field(default_factory=list)
    heartbeat_deadline_seconds: Annotated[
        Int32,
        described(
            "How long the active interceptor may go without a heartbeat, in seconds. It then times out, and "
            "the turn is handed over to the next one; after the last one the pod is evicted. Immutable.",
            minimum=MIN_DEADLINE_SECONDS,
            maximum=MAX_DEADLINE_SECONDS,
            default=DEFAULT_DEADLINE_SECONDS,
        ),
    ] = DEFAULT_DEADLINE_SECONDS

    @property
    def heartbeat_deadline(self) -> dt.timedelta:
        """The deadline as a duration, however large a number a server without our limits has stored."""
        return span(self.heartbeat_deadline_seconds, _MIN_DEADLINE, MAX_DEADLINE_SECONDS)


class RequestCondition(Projection, frozen=True):
    """One condition of the object."""

    type: Annotated[
        str, described("Type of the condition, in CamelCase.", required=True, minLength=1, maxLength=316)
    ] = ""
    status: Annotated[
        str, described("Status of the condition.", required=True, enum=["True", "False", "Unknown"])
    ] = ""
    observed_generation: Annotated[
        Int64,
        described("Generation of the spec that the condition describes.", minimum=0),
    ] = 0
    last_transition_time: Annotated[
        dt.datetime | None, described("When the status of the condition last changed.", required=True)
    ] = None
    reason: Annotated[
        str,
        described(
            "Reason for the status, as one CamelCase word.", required=True, minLength=1, maxLength=1024
        ),
    ] = ""
    message: Annotated[str, described("Details for people.", required=True, maxLength=MAX_MESSAGE)] = ""

    def __post_init__(self) -> None:
        check_times(self.last_transition_time)


class PodEvictionStatus(Projection, frozen=True):
    """Attempts to evict the pod through the API."""

    failed_api_eviction_counter: Annotated[
        Int32,
        described(
            "How many evictions the API server refused, for example because of a disruption budget. Never "
            "decreases.",
            required=True,
            minimum=0,
        ),
    ] = msgspec.field(default=0, name="failedAPIEvictionCounter")


class EvictionRequestStatus(Projection, frozen=True):
    """The progress of the eviction."""

    conditions: Annotated[
        list[RequestCondition],
        described(
            "Conditions of the request. The controller writes Complete, Progressing, InterceptorAssigned, "
            "Admitted and Forced. Interceptors may add their own.",
            maxItems=MAX_CONDITIONS,
            **_LIST_MAP_BY_TYPE,
        ),
    ] = msgspec.field(default_factory=list)
    message: Annotated[
        str,
        described("Progress for people, in one sentence. May be empty.", maxLength=MAX_MESSAGE, default=""),
    ] = ""
    active_interceptor_name: Annotated[
        str | None,
        described(
            "The interceptor whose turn it is. It accepts the turn by moving heartbeatTime forward, or hands "
            "it over by setting activeInterceptorCompleted. Moves down the list only; cleared when the "
            "request is complete. Written by the controller.",
            maxLength=253,
        ),
    ] = None
    active_interceptor_completed: Annotated[
        bool,
        described(
            "Set to true by the active interceptor when it has prepared the pod, or has nothing to do. The "
            "turn is then handed over to the next one; after the last one the pod is evicted."
        ),
    ] = False
    expected_interceptor_finish_time: Annotated[
        dt.datetime | None, described("When the active interceptor expects to finish, if it knows.")
    ] = None
    heartbeat_time: Annotated[
        dt.datetime | None,
        described(
            "When the active interceptor last reported progress. May be at most ten seconds in the future, "
            "to allow for clock skew."
        ),
    ] = None
    eviction_request_cancellation_policy: Annotated[
        str | None,
        described(
            "Whether the request may be cancelled. While it is Forbid, the requesters cannot be changed, and "
            "the request cannot be deleted while the pod runs. Interceptors set it; it is kept when the turn "
            "is handed over.",
            enum=[ALLOW, FORBID],
            default=ALLOW,
        ),
    ] = None
    pod_eviction_status: Annotated[
        PodEvictionStatus | None,
        described("Refused evictions of the pod. Absent until the first one. Written by the controller."),
    ] = None

    def __post_init__(self) -> None:
        check_times(self.expected_interceptor_finish_time, self.heartbeat_time)


class EvictionRequest(Projection, frozen=True):
    """Requests the eviction of a pod, and reports its progress."""

    # Other APIs for evictions are read into this struct too, as a subclass with a kind of its own.
    kind: ClassVar[Kind] = EVICTIONREQUESTS

    metadata: Annotated[
        ObjectMeta,
        described(
            "The name is the UID of the pod. The pod's labels are merged in and win over the request's."
        ),
    ] = msgspec.field(default_factory=ObjectMeta)
    spec: Annotated[EvictionRequestSpec, described("What is requested.", required=True)] = msgspec.field(
        default_factory=EvictionRequestSpec
    )
    status: Annotated[EvictionRequestStatus, described("The progress of the eviction.")] = msgspec.field(
        default_factory=EvictionRequestStatus
    )

    @property
    def pod_name(self) -> str:
        """The name of the pod that it is about; empty where it names none."""
        ref = self.spec.target.pod_ref
        return "" if ref is None else ref.name

    @property
    def pod_uid(self) -> str:
        """The UID of the pod that it is about, likewise."""
        ref = self.spec.target.pod_ref
        return "" if ref is None else ref.uid

    @property
    def complete(self) -> bool:
        """Whether the request is complete: the pod is evicted, or the request cancelled."""
        found = condition(self.status.conditions, COMPLETE)
        return found is not None and found.status == "True"

    @property
    def forbids_cancellation(self) -> bool:
        """Whether the request cannot be cancelled."""
        return self.status.eviction_request_cancellation_policy == FORBID
