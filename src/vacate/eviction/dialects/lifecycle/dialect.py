"""lifecycle.k8s.io as a dialect: an Eviction is the process, and requesters have objects of their own."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Any

from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, Kind
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.lifecycle import (
    EVICTOR,
    HEARTBEAT_DEADLINE,
    REQUEST_KIND,
    Eviction,
    LifecycleRequest,
    turn_order,
)
from vacate.api.workloads import OWN_RESPONDERS
from vacate.errors import ConfigError
from vacate.eviction.dialects.base import ApiTerms, Dialect, StatusPatch, Upkeep, Write
from vacate.eviction.dialects.lifecycle.requests import (
    intent_patch,
    new_request,
    own_request_name,
    request_record,
)
from vacate.eviction.dialects.lifecycle.translation import (
    LifecycleRecord,
    has_begun,
    interceptor_named,
    record_of,
    responder_named,
    status_patch,
)
from vacate.eviction.dialects.turn_conditions import reconsidered
from vacate.eviction.dialects.words import phrasing
from vacate.eviction.model import CompletionReason, EvictionState, Finish, Target
from vacate.eviction.records.patches import finish_patch
from vacate.eviction.records.reader import process_of, target_of
from vacate.eviction.registration import Registration, listed_responders
from vacate.eviction.requesternames import keyed
from vacate.kube.patches import guarded
from vacate.wire.mediatypes import STRATEGIC_PATCH

HEARTBEAT_INTERVAL = dt.timedelta(minutes=3)
"""How often the controller reports while it plays the last responder."""

_EVICTED = {
    CompletionReason.POD_DELETED: "The pod is deleted.",
    CompletionReason.POD_TERMINATED: "The pod has terminated.",
}
_phrase = phrasing({"interceptor": "responder", "interceptors": "responders"})


class LifecycleDialect:
    """The API that Kubernetes has of its own."""

    name = "lifecycle"
    kind: Kind = LIFECYCLE_EVICTIONS
    request_kind = REQUEST_KIND
    wire: type[Any] = Eviction
    terms = ApiTerms("eviction", "requester", "responder")
    max_requester = 253
    requesters_hold = False
    status_patch_type = STRATEGIC_PATCH
    cuts_turns_short = False
    can_forbid = False
    sets_deadline = False
    heartbeat_seconds = 20.0
    report_seconds = 20.0

    def read(self, obj: Any) -> EvictionRequest:
        """The Eviction in the shape of an EvictionRequest of ours."""
        return record_of(obj)

    def status_patch(
        self, patch: Obj, request: EvictionRequest | None = None, now: dt.datetime | None = None
    ) -> Obj:
        """The step of the responders that the patch stands for."""
        if not isinstance(request, LifecycleRecord) or now is None:
            raise TypeError("a step of an Eviction needs its record and the time")
        return status_patch(request, patch, now)

    def request_name(self, pod_name: str, pod_uid: str) -> str:
        """It does not follow from the pod: a pod may have had several Evictions, one after the other."""
        return ""

    def registration(self, pod: Obj, allowed: Sequence[str] = ()) -> Registration:
        """The responders that the pod lists; the last has the first turn."""
        ordered = sorted(listed_responders(pod), key=lambda one: turn_order(*one), reverse=True)
        return Registration(tuple(interceptor_named(name) for name, _ in ordered))

    def phrase(self, text: str) -> str:
        """The sentence with responders, and with the names that our own interceptors have in this API."""
        for interceptor, responder in OWN_RESPONDERS.items():
            text = text.replace(interceptor, responder)
        return _phrase(text)

    def process(self, request: EvictionRequest) -> EvictionState:
        """The request as the engine sees it: without interceptors once the last responder is active."""
        found = dataclasses.replace(process_of(request), trusts_heartbeats=True)
        if not isinstance(request, LifecycleRecord) or not (
            request.evictor_is_active or request.is_exhausted
        ):
            return found
        return dataclasses.replace(
            found,
            interceptors=(),
            ended=found.interceptors,
            active=None,
            heartbeat=None,
            exhausted=request.is_exhausted,
            reconsidered=reconsidered(request),
        )

    def target(self, request: EvictionRequest, pod: Pod | None, *, live: bool = False) -> Target:
        """The pod as the engine sees it. Its responders never change: another Eviction has the same."""
        registered = tuple(one.name for one in reversed(request.spec.interceptors))
        return dataclasses.replace(target_of(request, pod, live=live), registered=registered)

    def settled(self, request: EvictionRequest) -> bool:
        """Over, or not begun: the first status is written where requesters are collected."""
        return request.complete or not (isinstance(request, LifecycleRecord) and has_begun(request.eviction))

    def in_grace(self, request: EvictionRequest) -> bool:
        """Whether the active responder may still report that it has completed its turn."""
        status = request.status
        return bool(status.active_interceptor_name) and not status.active_interceptor_completed

    def finish(self, request: EvictionRequest, action: Finish, now: dt.datetime) -> Write:
        """The last responder has done its work first: a record is closed by the write that ends the turn."""
        played = request if isinstance(request, LifecycleRecord) and request.evictor_is_active else None
        if played and action.reason in _EVICTED and played.report(EVICTOR).completion_time is None:
            done = {"activeInterceptorCompleted": True, "message": _EVICTED[action.reason]}
            return StatusPatch(guarded(request.metadata, {"status": done}))
        return StatusPatch(finish_patch(request, action, now))

    def upkeep(self, request: EvictionRequest, now: dt.datetime) -> Upkeep:
        """A heartbeat of the last responder, which the controller plays."""
        if not isinstance(request, LifecycleRecord) or not request.evictor_is_active:
            return Upkeep()
        report = request.report(EVICTOR)
        due = (report.heartbeat_time or report.start_time or now) + HEARTBEAT_INTERVAL
        if now < due:
            return Upkeep(due)
        beat = {"heartbeatTime": format_time(now)}
        return Upkeep(now + HEARTBEAT_INTERVAL, guarded(request.metadata, {"status": beat}))

    def for_requester(self, requester: str) -> Dialect:
        """Its own EvictionRequests."""
        return LifecycleRequestDialect(requester)

    def participant(self, name: str) -> str:
        """As a key of a domain; our own interceptors have the same names in records of all APIs."""
        return name if name in OWN_RESPONDERS else keyed(name)

    def requests_of(self, interceptor: str, label_selector: str) -> str:
        """Evictions have the names of those who take part as labels, and none of the pod's."""
        return responder_named(interceptor)

    def new_request(self, pod: Pod, requester: str, reason: str, deadline_seconds: int | None) -> Obj:
        """The requester's own EvictionRequest. The deadline is the API's."""
        if deadline_seconds not in (None, int(HEARTBEAT_DEADLINE.total_seconds())):
            raise ConfigError("lifecycle.k8s.io has one heartbeat deadline, of 20 minutes: leave it out")
        return new_request(pod, requester, reason)

    def fixes_requesters(self, request: EvictionRequest) -> bool:
        """Never: nobody can forbid cancellation."""
        return False

    def requesters_patch(self, request: EvictionRequest, names: Sequence[str]) -> Obj:
        """What the requester wants, in its own request."""
        return intent_patch(request, names)


class LifecycleRequestDialect(LifecycleDialect):
    """The same API as one requester uses it: by an EvictionRequest of its own, which it follows."""

    kind = LIFECYCLE_REQUESTS
    wire = LifecycleRequest

    def __init__(self, requester: str = "") -> None:
        self._requester = requester

    def read(self, obj: Any) -> EvictionRequest:
        """The request in the shape of one of ours."""
        return request_record(obj)

    def request_name(self, pod_name: str, pod_uid: str) -> str:
        """It follows from the pod and the requester."""
        return own_request_name(pod_uid, self._requester)


LIFECYCLE = LifecycleDialect()
LIFECYCLE_REQUEST = LifecycleRequestDialect()
"""For requests that are there already, whoever made them."""
