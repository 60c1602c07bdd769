"""The eviction bridge: what is answered to a direct eviction of a pod that has interceptors.

PURE. A review and what is known of the cluster in; out comes what must be looked up next, or the decision.
The order of the questions is the contract: nothing is read for a caller who passes anyway, and what the API
server itself would answer with 404 or 409 is left to it, because that is what ends a drain.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from vacate.api.identity import StatusAuthority, User
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, Kind
from vacate.api.objects import Obj, dig, terminating
from vacate.api.times import EARLIEST, after, parse_time
from vacate.api.types import Taint
from vacate.api.types.core import TERMINAL_PHASES, Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.untyped import mapping, text
from vacate.errors import TooManyRequests
from vacate.eviction.callers import Caller, attempt, caller_name, callers_of
from vacate.eviction.coexistence import has_turns
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import dialect_for, dialect_of, dialect_with, served_dialects
from vacate.eviction.engine import decide
from vacate.eviction.model import (
    AlreadyComplete,
    Assign,
    CorrectHeartbeat,
    DecisionContext,
    Finish,
    Hold,
    Limits,
    Stage,
)
from vacate.eviction.pins import Pin, pin_of
from vacate.eviction.registration import Registration, resolve
from vacate.features import FeatureGates
from vacate.kube.nodes import UNSCHEDULABLE
from vacate.kube.scheduling.taints import tolerated

CAUSE = "EvictionRequest"
"""The reason in the cause of a refusal, beside `DisruptionBudget` of the API server."""

INTERCEPTOR = "vacate.dev/interceptor"
"""The annotation of an Eviction by which the active interceptor ends the pod itself."""

_DRAIN_TAINTS = (UNSCHEDULABLE, "ToBeDeletedByClusterAutoscaler")


@dataclass(frozen=True, slots=True)
class EvictionReview:
    """One direct eviction."""

    user: User
    namespace: str
    name: str  # of the pod
    uid: str = ""  # of the pod, where the caller names it
    grace: int | None = None
    dry_run: bool = False
    interceptor: str = ""  # who evicts, where it is an interceptor
    body: Obj = field(default_factory=dict, compare=False)  # the Eviction as it came

    def requester(self, kind: Kind = EVICTIONREQUESTS) -> str:
        """The caller as a requester of requests of the kind, whose names may be shorter."""
        dialect = dialect_with(kind)
        return dialect.participant(caller_name(self.user.name, dialect.max_requester))

    def attempted(self, now: dt.datetime, wait: dt.timedelta) -> Caller:
        """The caller as it is recorded."""
        return attempt(now, wait, by_uid=bool(self.uid), grace=self.grace)


def read_eviction(user: User, namespace: str, name: str, body: Obj, *, dry_run: bool) -> EvictionReview:
    """The review of an Eviction, whose dry run may stand in the request or in the body."""
    options = mapping(body.get("deleteOptions"))
    grace = options.get("gracePeriodSeconds")
    return EvictionReview(
        user,
        namespace,
        name or text(dig(body, "metadata", "name")),
        text(mapping(options.get("preconditions")).get("uid")),
        grace if isinstance(grace, int) and not isinstance(grace, bool) and grace >= 0 else None,
        dry_run or bool(options.get("dryRun")),
        text(mapping(dig(body, "metadata", "annotations")).get(INTERCEPTOR)),
        body,
    )


@dataclass(frozen=True, slots=True)
class BridgeConfig:
    """What the bridge goes by."""

    authority: StatusAuthority = field(default_factory=StatusAuthority)
    allowed_interceptors: tuple[str, ...] = ()
    wait: dt.timedelta = dt.timedelta(minutes=10)
    limits: Limits = field(default_factory=Limits)
    gates: FeatureGates = field(default_factory=FeatureGates)  # which APIs the cluster has

    @property
    def evacuations(self) -> bool:
        """Whether the cluster has Evacuations, which a direct eviction waits for too."""
        return self.gates.enabled(EVACUATIONS.gate)

    def dialect_for(self, pod: Obj) -> Dialect:
        """The API in which an eviction of the pod is requested."""
        return dialect_for(pod, served_dialects(self.gates))

    def may_be_beside(self, pod: Obj) -> bool:
        """Whether responders of the pod may have turns, though its eviction is requested by another API."""
        served = LIFECYCLE in served_dialects(self.gates) and self.dialect_for(pod) is not LIFECYCLE
        return served and bool(LIFECYCLE.registration(pod).interceptors)

    def registration(self, pod: Obj) -> Registration:
        """Those whose turns a direct eviction of the pod waits for."""
        if self.dialect_for(pod) is LIFECYCLE:
            return LIFECYCLE.registration(pod)
        return resolve(pod, self.allowed_interceptors)


class Lookup(Enum):
    """What must be read before there can be a decision."""

    POD = "pod"
    REQUEST = "request"  # the one for this pod
    BESIDE = "beside"  # that of lifecycle.k8s.io, for a pod whose own is of another API
    NAMESAKES = "namesakes"  # requests, with recorded callers, for pods of this name
    NODE = "node"  # of the pod


class Unread(Enum):
    """Stands for what was not read."""

    UNREAD = "unread"


UNREAD = Unread.UNREAD


@dataclass(frozen=True, slots=True)
class LookupResults:
    """What was read so far; None is what does not exist."""

    pod: Obj | Unread | None = UNREAD
    request: EvictionRequest | Unread | None = UNREAD  # the process, and where that is another object:
    own: EvictionRequest | None = None  # the caller's own request for it
    beside: EvictionRequest | Unread | None = UNREAD
    namesakes: Sequence[EvictionRequest] | Unread = UNREAD
    node: Obj | Unread | None = UNREAD


@dataclass(frozen=True, slots=True)
class Pass:
    """The eviction goes on to the API server. `request` is the one in which the caller is recorded."""

    request: EvictionRequest | None = None
    final: bool = True  # whether the caller will hear that the pod is evicted or gone; a budget may refuse
    pin: Pin | None = None  # what keeps a request that is over, which the eviction goes past


@dataclass(frozen=True, slots=True)
class Gone:
    """404: the pod that the caller meant is gone, and this is another one of its name."""

    request: EvictionRequest


@dataclass(frozen=True, slots=True)
class Wait:
    """429: interceptors come first. Without a request, or with one that is over, a new one is to be made.

    One that is over and is being deleted is waited for, for a moment.
    """

    request: EvictionRequest | None = None  # which the caller joins
    replaced: EvictionRequest | None = None  # over, and in the way of a new one
    process: EvictionRequest | None = None  # what is under way, where the caller's request is another object


Decision = Lookup | Pass | Gone | Wait


def decide_review(
    review: EvictionReview, known: LookupResults, config: BridgeConfig, now: dt.datetime
) -> Decision:
    """The decision, or what it needs."""
    if review.dry_run or config.authority.is_controller(review.user):
        return Pass()
    pod = known.pod
    if isinstance(pod, Unread):
        return Lookup.POD
    uid = text(dig(pod, "metadata", "uid")) if pod is not None else ""
    if review.uid and review.uid != uid:
        return Pass()
    if pod is None or _may_be_another(pod, now, config.wait):
        if not review.uid and isinstance(known.namesakes, Unread):
            return Lookup.NAMESAKES
        earlier = None if review.uid else _earlier(review, known.namesakes, uid, now)
        if pod is None:
            return Pass(earlier)
        if earlier is not None:
            if isinstance(known.node, Unread) and dig(pod, "spec", "nodeName"):
                return Lookup.NODE
            if not _is_drained(known.node, msgspec.convert(pod, Pod)):
                return Gone(earlier)
    found = config.registration(pod)
    if not found.interceptors or found.field_errors:
        return Pass()
    if isinstance(known.request, Unread):
        return Lookup.REQUEST
    decide_on = _decide_on_process if config.dialect_for(pod) is LIFECYCLE else _decide_on_request
    return decide_on(review, pod, known, config, now)


def refusal(message: str) -> TooManyRequests:
    """429 with a cause. It names no time: client libraries would wait for it without a word."""
    return TooManyRequests(message, details={"causes": [{"reason": CAUSE, "message": message}]})


def _decide_on_request(
    review: EvictionReview, pod: Obj, known: LookupResults, config: BridgeConfig, now: dt.datetime
) -> Decision:
    request = None if isinstance(known.request, Unread) else known.request
    if terminating(pod) or dig(pod, "status", "phase") in TERMINAL_PHASES:
        return Pass(request if request is not None and _is_recorded(review, request) else None)
    if request is None:
        return Wait()
    if _is_interceptor(review, request, config.authority):
        return Pass()
    if request.complete:
        return _past(request, now)
    dialect = dialect_of(request)
    process, target = dialect.process(request), dialect.target(request, msgspec.convert(pod, Pod), live=True)
    action = decide(process, target, DecisionContext(now, EARLIEST, limits=config.limits))
    match action:
        case Assign() | CorrectHeartbeat() | Hold(stage=Stage.INTERCEPTING):
            return Wait(request)
        case AlreadyComplete() | Finish():  # cancelled, and not yet written down
            return _past(request, now)
        case _:
            # Evicting, blocked by a budget, or not admitted and never processed: the API server decides.
            beside = _beside(review, pod, known, config, now)
            if beside is not None:
                return beside
            return Pass(request if _is_recorded(review, request) else None, final=False)


def _beside(
    review: EvictionReview, pod: Obj, known: LookupResults, config: BridgeConfig, now: dt.datetime
) -> Decision | None:
    """What is to be done about an Eviction that another requester has begun; None for nothing.

    The controller evicts the pod when its responders have had their turns, too.
    """
    own, beside = known.request, known.beside
    if isinstance(own, Unread) or own is None or not config.may_be_beside(pod):
        return None
    if isinstance(beside, Unread):
        return Lookup.BESIDE
    if beside is None or _is_interceptor(review, beside, config.authority):
        return None
    return Wait(own, process=beside) if has_turns(beside, msgspec.convert(pod, Pod), now) else None


def _decide_on_process(
    review: EvictionReview, pod: Obj, known: LookupResults, config: BridgeConfig, now: dt.datetime
) -> Decision:
    """The same where requesters have objects of their own: whatever became of earlier ones, they go on.

    They are collected with the pod, so that nobody who asks for it later finds a record in them.
    """
    if dig(pod, "status", "phase") in TERMINAL_PHASES or terminating(pod):
        return Pass()
    process, own = known.request, known.own
    if isinstance(process, Unread) or (process is not None and LIFECYCLE.settled(process)):
        process = None  # over, or not begun
    if process is not None and isinstance(_decide_on_request(review, pod, known, config, now), Pass):
        return Pass()
    if own is not None and own.metadata.deletion_timestamp is not None:
        return _past(own, now)
    return Wait(own, process=process)


def _past(request: EvictionRequest, now: dt.datetime) -> Decision:
    """One that is over is replaced; where it cannot be removed there can be no other, and it is none."""
    pin = pin_of(request, now)
    return Wait(replaced=request) if pin is None else Pass(pin=pin)


def _is_interceptor(review: EvictionReview, request: EvictionRequest, authority: StatusAuthority) -> bool:
    """Whether the eviction is that of the active interceptor, from one of its accounts where it is bound."""
    if not review.interceptor or review.interceptor != request.status.active_interceptor_name:
        return False
    accounts = authority.accounts_of(review.interceptor)
    return not accounts or review.user.name in accounts


def _is_recorded(review: EvictionReview, request: EvictionRequest) -> bool:
    return review.requester(request.kind) in callers_of(request.metadata.annotations)


def _may_be_another(pod: Obj, now: dt.datetime, wait: dt.timedelta) -> bool:
    """Whether the pod is young enough to have replaced another of its name that a caller still asks for."""
    try:
        created = parse_time(text(dig(pod, "metadata", "creationTimestamp")))
    except ValueError:
        return True
    return after(created, wait * 2) > now


def _is_drained(node: Obj | Unread | None, pod: Pod) -> bool:
    """Whether the node takes no such pods, as while it is drained: who asks means the pod that is there now.

    The pod was scheduled to it before that. So this is a later drain of the same caller, and an earlier one,
    should it still ask, does what the later one does. A pod that tolerates the drain shows nothing: it may
    have returned to the node of the earlier one, which would evict it again and again.
    """
    if not isinstance(node, dict):
        return False
    spec = mapping(node.get("spec"))
    taints = spec.get("taints")
    keys = {text(mapping(one).get("key")) for one in taints} if isinstance(taints, list) else set()
    if spec.get("unschedulable") is True:
        keys.add(UNSCHEDULABLE)
    tolerations = pod.spec.tolerations
    return any(
        not tolerated(tolerations, Taint(key=key, effect="NoSchedule"))
        for key in keys.intersection(_DRAIN_TAINTS)
    )


def _earlier(
    review: EvictionReview, namesakes: Sequence[EvictionRequest] | Unread, uid: str, now: dt.datetime
) -> EvictionRequest | None:
    """The request for an earlier pod of the name, for which this caller has had no final answer."""
    if isinstance(namesakes, Unread):
        return None
    for request in namesakes:
        if request.pod_name != review.name or request.pod_uid == uid:
            continue
        # Of one that is being deleted the record may be anybody's: admission leaves it to its finalizers.
        if request.metadata.deletion_timestamp is not None:
            continue
        caller = callers_of(request.metadata.annotations).get(review.requester())
        if caller is not None and not caller.by_uid and not caller.answered and caller.until > now:
            return request
    return None
