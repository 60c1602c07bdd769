"""lifecycle.k8s.io, the API of Kubernetes itself: its words, its limits, and the order of turns.

An EvictionRequest is one requester's wish that a pod be evicted; an Eviction is the process, one at a time
for each pod, in which responders have their turns: those that the pod lists, the highest priority first, and
at last one that evicts the pod by the eviction API. The API server checks every step of an Eviction's status
(`vacate.embedded.registry.lifecycle` does as it does).
"""

from __future__ import annotations

import datetime as dt
import re
from enum import StrEnum
from typing import Any

import msgspec

from vacate.api.fielderrors import FieldError, complaints, invalid, required
from vacate.api.names import label_key
from vacate.api.times import is_acceptable
from vacate.api.types.evictionrequest import LocalPodReference, RequestCondition
from vacate.api.types.meta import ObjectMeta, Projection, check_times

EVICTOR = "imperative-eviction.k8s.io/evictor"
"""The last responder of every Eviction, which evicts the pod by the eviction API."""
EVICTOR_PRIORITY = 100
MIN_PRIORITY, MAX_PRIORITY = 1_000, 100_000
HEARTBEAT_DEADLINE = dt.timedelta(minutes=20)
CLOCK_SKEW = dt.timedelta(seconds=30)
"""How far times that are written may be from the API server's clock."""
MAX_MESSAGE, MAX_REQUESTERS = 4_000, 100

REQUEST_KIND = "Lifecycle"
"""What NodeMaintenances and DeschedulingPolicies call this API: its kinds have the names of others."""

EVICTION, WITHDRAWN = "Eviction", "Withdrawn"
INTENTS = (EVICTION, WITHDRAWN)

TARGET_EVICTED, FAILED = "TargetEvicted", "Failed"
FINAL_CONDITIONS = (TARGET_EVICTED, FAILED)
"""Conditions of which one becomes True, once and for all, when an Eviction is over."""

_RESERVED = (".k8s.io", ".kubernetes.io")
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Reason(StrEnum):
    """Reasons of the two conditions."""

    AWAITING = "AwaitingEviction"
    POD_DELETED = "PodDeleted"
    POD_TERMINAL = "PodTerminal"
    EVICTION_FAILED = "EvictionFailed"
    SUCCEEDED = "Succeeded"
    INVALID = "EvictionInvalid"
    NO_REQUESTERS = "CanceledDueToNoRequesters"
    NO_RESPONDER = "NoFurtherResponder"


class State(StrEnum):
    """How far a responder's turn is."""

    INACTIVE = "Inactive"
    ACTIVE = "Active"
    INTERRUPTED = "Interrupted"
    CANCELED = "Canceled"
    COMPLETED = "Completed"


ENDED = (State.INTERRUPTED, State.CANCELED, State.COMPLETED)


def turn_order(name: str, priority: int) -> tuple[int, list[str], str]:
    """What responders are sorted by, the first turn first; equal priorities by domain, from its top down."""
    domain, _, key = name.partition("/")
    return -priority, domain.split(".")[::-1], key


def key_errors(path: str, name: str) -> list[FieldError]:
    """The name of a requester or a responder: a key below a domain."""
    if not name:
        return [required(path)]
    found = label_key(name)
    if not found and "/" not in name:
        found = ["must include a prefix (e.g. 'example.com/key')"]
    return complaints(path, name, found)


def participant_errors(path: str, name: str) -> list[FieldError]:
    """The same for those that are not Kubernetes' own."""
    if not name:
        return [required(path)]
    domain = name.partition("/")[0].lower().strip().rstrip(".")
    if any(domain == one[1:] or domain.endswith(one) for one in _RESERVED):
        detail = f"domain names {', '.join(f'*{one}' for one in _RESERVED)} are reserved"
        return [invalid(path, name, detail), *key_errors(path, name)]
    return key_errors(path, name)


def priority_errors(path: str, priority: Any) -> list[FieldError]:
    """The priority of any responder."""
    if type(priority) is not int:
        return [required(path)]
    if priority > MAX_PRIORITY:
        return [invalid(path, priority, f"must be less than or equal to {MAX_PRIORITY}")]
    return [invalid(path, priority, "must be greater than or equal to 0")] if priority < 0 else []


def pod_priority_errors(path: str, priority: Any) -> list[FieldError]:
    """The priority of a responder that a pod lists."""
    if type(priority) is int and 0 <= priority < MIN_PRIORITY:
        detail = f"priorities 0-{MIN_PRIORITY - 1} are reserved for responders with *.k8s.io suffix"
        return [invalid(path, priority, detail)]
    return priority_errors(path, priority)


def is_uuid(text: str) -> bool:
    """Whether it has the form of a UID, in lower case."""
    return _UUID.fullmatch(text) is not None


class LifecycleTarget(Projection, frozen=True):
    """What is to be evicted."""

    pod: LocalPodReference | None = None


class LifecycleRequestSpec(Projection, frozen=True):
    """Who wants what."""

    target: LifecycleTarget = msgspec.field(default_factory=LifecycleTarget)
    requester: str = ""
    intent: str = ""


class LifecycleCondition(RequestCondition, frozen=True):
    """A condition as the API server takes it: of times, it refuses none."""

    def __post_init__(self) -> None:
        if self.last_transition_time is not None and not is_acceptable(self.last_transition_time):
            msgspec.structs.force_setattr(self, "last_transition_time", None)  # as if none were there


class LifecycleRequestStatus(Projection, frozen=True):
    """What has become of it."""

    observed_generation: int = 0
    conditions: list[LifecycleCondition] = msgspec.field(default_factory=list)


class LifecycleRequest(Projection, frozen=True):
    """One requester's wish that a pod be evicted."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: LifecycleRequestSpec = msgspec.field(default_factory=LifecycleRequestSpec)
    status: LifecycleRequestStatus = msgspec.field(default_factory=LifecycleRequestStatus)

    @property
    def wants_eviction(self) -> bool:
        """Whether the requester still wants it: a request that is being deleted counts as withdrawn."""
        return self.spec.intent == EVICTION and self.metadata.deletion_timestamp is None


class EvictionRequester(Projection, frozen=True):
    """One requester of an Eviction."""

    name: str = ""
    intent: str = ""


class TargetResponder(Projection, frozen=True):
    """One responder of an Eviction, and how far its turn is."""

    name: str = ""
    priority: int = 0
    state: str = ""


class ResponderStatus(Projection, frozen=True):
    """What a responder has reported."""

    name: str = ""
    start_time: dt.datetime | None = None
    heartbeat_time: dt.datetime | None = None
    expected_completion_time: dt.datetime | None = None
    completion_time: dt.datetime | None = None
    message: str = ""

    def __post_init__(self) -> None:
        check_times(self.start_time, self.heartbeat_time, self.expected_completion_time, self.completion_time)


class EvictionSpec(Projection, frozen=True):
    """What is evicted."""

    target: LifecycleTarget = msgspec.field(default_factory=LifecycleTarget)


class EvictionStatus(Projection, frozen=True):
    """How far an eviction is."""

    observed_generation: int = 0
    conditions: list[LifecycleCondition] = msgspec.field(default_factory=list)
    requesters: list[EvictionRequester] = msgspec.field(default_factory=list)
    target_responders: list[TargetResponder] = msgspec.field(default_factory=list)
    responders: list[ResponderStatus] = msgspec.field(default_factory=list)


class ManagedFields(Projection, frozen=True):
    """Who wrote which fields, and when: one entry of what the API server keeps."""

    manager: str = ""
    time: str = ""
    fields_v1: dict[str, Any] = msgspec.field(default_factory=dict)


class EvictionMeta(ObjectMeta, frozen=True):
    """`metadata` of an Eviction."""

    managed_fields: list[ManagedFields] = msgspec.field(default_factory=list)


class Eviction(Projection, frozen=True):
    """The eviction of one pod."""

    metadata: EvictionMeta = msgspec.field(default_factory=EvictionMeta)
    spec: EvictionSpec = msgspec.field(default_factory=EvictionSpec)
    status: EvictionStatus = msgspec.field(default_factory=EvictionStatus)
