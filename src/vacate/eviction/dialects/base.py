"""What a dialect is: everything in which one API for evictions differs from another.

All dialects share one record of a request, in the shape of an EvictionRequest: a dialect reads the objects
of its own kind into it, and writes changes of the record as changes of its own objects. The engine, the
controller, the SDK, the views and the commands work on records only. A record knows its kind, and by that
its dialect: `dialects.registry.dialect_of`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.model import EvictionState, Finish, Target
from vacate.eviction.registration import Registration, registering_part
from vacate.eviction.requesternames import dotted
from vacate.wire.mediatypes import MERGE_PATCH


@dataclass(frozen=True, slots=True)
class ApiTerms:
    """What an API calls the parts of the process: in metrics, and in sentences."""

    request: str
    requester: str
    interceptor: str

    @property
    def controller(self) -> str:
        """The beginning of the names of the controller's metrics."""
        return f"{self.request}_controller"


@dataclass(frozen=True, slots=True)
class StatusPatch:
    """Patch the status of the object, which is still in the version that was read."""

    patch: Obj


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """Patch the object itself, which is still in the version that was read."""

    patch: Obj


@dataclass(frozen=True, slots=True)
class Removal:
    """Delete the object, this very one."""


Write = StatusPatch | ObjectPatch | Removal


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What the controller writes from time to time, though nothing has changed: a patch that is due."""

    at: dt.datetime | None = None  # when it is due, or due again
    patch: Obj | None = None


class Dialect(Protocol):
    """One API for evictions."""

    @property
    def name(self) -> str:
        """What commands and settings call it."""

    @property
    def kind(self) -> Kind:
        """The kind of its objects."""

    @property
    def wire(self) -> type[Any]:
        """The struct into which its objects are decoded."""

    @property
    def request_kind(self) -> str:
        """What NodeMaintenances and DeschedulingPolicies call it."""

    @property
    def terms(self) -> ApiTerms:
        """What it calls the parts of the process."""

    @property
    def max_requester(self) -> int:
        """How many characters the name of a requester may have."""

    @property
    def status_patch_type(self) -> str:
        """The media type of `status_patch`."""

    @property
    def cuts_turns_short(self) -> bool:
        """Whether the controller may end a turn before its deadline, at an administrator's limit."""

    @property
    def can_forbid(self) -> bool:
        """Whether an interceptor can forbid cancellation."""

    @property
    def sets_deadline(self) -> bool:
        """Whether a request says how long its interceptors may be silent."""

    @property
    def heartbeat_seconds(self) -> float:
        """How long an interceptor waits between heartbeats at least."""

    @property
    def report_seconds(self) -> float:
        """How long an interceptor that has only messages to report waits between two writes."""

    @property
    def requesters_hold(self) -> bool:
        """Whether a deleted request stays as long as a requester's name is on it."""

    def read(self, obj: Any) -> EvictionRequest:
        """The record of an object that was decoded into `wire`."""

    def status_patch(
        self, patch: Obj, request: EvictionRequest | None = None, now: dt.datetime | None = None
    ) -> Obj:
        """A merge patch of a record's status as a patch of the object's.

        Where the API keeps more than the present state, the change is a step from the record at that time.
        """

    def request_name(self, pod_name: str, pod_uid: str) -> str:
        """What the request for a pod is called; empty where that does not follow from the pod."""

    def registration(self, pod: Obj, allowed: Sequence[str] = ()) -> Registration:
        """Those whom the pod registers to prepare its eviction, the last of whom has the first turn."""

    def phrase(self, text: str) -> str:
        """A sentence about a record in the words of this API. A sentence in its words stays as it is."""

    def process(self, request: EvictionRequest) -> EvictionState:
        """The request as the engine sees it."""

    def target(self, request: EvictionRequest, pod: Pod | None, *, live: bool = False) -> Target:
        """The pod as the engine sees it: from a cache or, where `live`, from the server itself."""

    def settled(self, request: EvictionRequest) -> bool:
        """Whether nothing is left to do for the controller."""

    def in_grace(self, request: EvictionRequest) -> bool:
        """Whether a request that is over stays open for a moment, for what its interceptor still reports."""

    def upkeep(self, request: EvictionRequest, now: dt.datetime) -> Upkeep:
        """What is written from time to time while the request waits."""

    def finish(self, request: EvictionRequest, action: Finish, now: dt.datetime) -> Write | None:
        """The next write that brings a request that is over to its end; None where there is none left."""

    def for_requester(self, requester: str) -> Dialect:
        """This API as one requester uses it: by the objects that it creates, joins and follows."""

    def participant(self, name: str) -> str:
        """The name of a requester or an interceptor, such as drain.example.com, as this API writes it."""

    def requests_of(self, interceptor: str, label_selector: str) -> str:
        """The label selector of the requests in which an interceptor has a turn; empty for all."""

    def new_request(self, pod: Pod, requester: str, reason: str, deadline_seconds: int | None) -> Obj:
        """An object that requests the eviction of the pod, to be created."""

    def fixes_requesters(self, request: EvictionRequest) -> bool:
        """Whether nobody may join the request or withdraw from it now."""

    def requesters_patch(self, request: EvictionRequest, names: Sequence[str]) -> Obj:
        """The change of the object that makes these the requesters, guarded by its version."""


class RequestIsProcess:
    """The part that APIs share in which one object is request and process, and of a kind of our own."""

    status_patch_type = MERGE_PATCH
    cuts_turns_short = True
    can_forbid = True
    sets_deadline = True
    heartbeat_seconds = 0.0
    report_seconds = 5.0

    def in_grace(self, request: EvictionRequest) -> bool:
        """It ends at once."""
        return False

    def participant(self, name: str) -> str:
        """As a domain."""
        return dotted(name)

    def requests_of(self, interceptor: str, label_selector: str) -> str:
        """Requests have the labels of their pods."""
        return label_selector

    def upkeep(self, request: EvictionRequest, now: dt.datetime) -> Upkeep:
        """Nothing is written unless it is news."""
        return Upkeep()


def registered_interceptors(dialect: Dialect, pod: Pod | None) -> tuple[str, ...]:
    """The interceptors that a new request for the pod would have; a malformed registration counts as none."""
    if pod is None:
        return ()
    spec = pod.spec
    if not (pod.metadata.annotations or spec.eviction_interceptors or spec.eviction_responders):
        return ()
    found = dialect.registration(registering_part(pod))
    return () if found.field_errors else found.interceptors
