"""EvictionRequests and pods as the engine's values."""

from __future__ import annotations

from enum import StrEnum

from vacate.api.times import EARLIEST
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import (
    ADMITTED_STAMP,
    COMPLETE,
    FORCED,
    INTERCEPTOR_ASSIGNED,
    PROGRESSING,
    PUSHED_BY,
    RETRY,
    SKIP,
    SUPERSEDES,
    EvictionRequest,
    RequestCondition,
)
from vacate.api.types.meta import OwnerReference, condition
from vacate.eviction.model import CompletionReason, EvictionState, Presence, Stage, Target, Termination

MIRROR = "kubernetes.io/config.mirror"
DAEMON_SET = "DaemonSet"


class ForcedReason(StrEnum):
    """Past what a pod is evicted, or deleted."""

    LIMIT_REACHED = "LimitReached"  # past interceptors: an administrator's limit ended their turns
    DELETED_WHEN_PREPARED = "DeletedWhenPrepared"  # past its own budget, as its owner allows


def process_of(request: EvictionRequest) -> EvictionState:
    """The request as the engine sees it. The last of the list has the first turn."""
    spec, status, meta = request.spec, request.status, request.metadata
    failed = status.pod_eviction_status
    return EvictionState(
        interceptors=tuple(one.name for one in reversed(spec.interceptors)),
        requesters=tuple(one.name for one in spec.requesters),
        deadline=spec.heartbeat_deadline,
        created=meta.creation_timestamp or EARLIEST,
        being_deleted=meta.deletion_timestamp is not None,
        forbids_cancellation=request.forbids_cancellation,
        complete=request.complete,
        admitted=ADMITTED_STAMP in meta.annotations,
        active=status.active_interceptor_name or None,
        active_completed=status.active_interceptor_completed,
        heartbeat=status.heartbeat_time,
        failed_evictions=failed.failed_api_eviction_counter if failed else 0,
        stage=recorded_stage(request),
        retry=RETRY in meta.annotations,
        skipped=tuple(name.strip() for name in meta.annotations.get(SKIP, "").split(",") if name.strip()),
        pushed_by=meta.annotations.get(PUSHED_BY, ""),
        supersedes=SUPERSEDES in meta.annotations,
    )


def recorded_stage(request: EvictionRequest) -> Stage | None:
    """The stage that was last written into the request."""
    found = condition(request.status.conditions, PROGRESSING)
    try:
        return Stage(found.reason) if found else None
    except ValueError:
        return None


def forced_by(request: EvictionRequest) -> RequestCondition | None:
    """The controller's record that it goes past a budget or an interceptor of the pod."""
    found = condition(request.status.conditions, FORCED)
    return found if found is not None and found.status == "True" else None


def is_superseded(request: EvictionRequest) -> bool:
    """Whether the request is over because a new one takes over its requesters."""
    return request.complete and recorded_stage(request) is Stage.SUPERSEDED


def shown_stage(request: EvictionRequest) -> Stage:
    """The stage as derived from the request alone, also where none was recorded yet."""
    recorded, interceptors = recorded_stage(request), request.spec.interceptors
    over = condition(request.status.conditions, COMPLETE) if request.complete else None
    if over is not None and recorded not in (Stage.COMPLETE, Stage.CANCELLED, Stage.SUPERSEDED):
        return Stage.CANCELLED if over.reason == CompletionReason.CANCELLED else Stage.COMPLETE
    if recorded is None:
        return Stage.INTERCEPTING if interceptors else Stage.EVICTING
    last = bool(interceptors) and request.status.active_interceptor_name == interceptors[0].name
    if recorded is Stage.INTERCEPTING and last and request.status.active_interceptor_completed:
        return Stage.EVICTING
    return recorded


def assigned(request: EvictionRequest) -> RequestCondition | None:
    """The condition whose time is the beginning of the active interceptor's turn."""
    return condition(request.status.conditions, INTERCEPTOR_ASSIGNED)


def has_responded(request: EvictionRequest) -> bool:
    """Whether the active interceptor has reported since its turn began.

    The controller writes the heartbeat and the condition of the same instant; as long as they are equal it
    is the controller's.
    """
    began = assigned(request)
    return began is not None and request.status.heartbeat_time != began.last_transition_time


def target_of(request: EvictionRequest, pod: Pod | None, *, live: bool = False) -> Target:
    """The target, from a cache or, where `live`, from the server itself: only the latter proves absence."""
    ref = request.spec.target.pod_ref
    if pod is None or ref is None:
        return Target(Presence.GONE if live else Presence.UNSEEN, live=live)
    if pod.metadata.uid != ref.uid:
        # Another pod has the name: the server never has two pods of a name, so ours is deleted. A cache
        # may still show an earlier one.
        return Target(Presence.GONE if live else Presence.UNSEEN, live=live)
    return Target(Presence.LIVE, pod.terminal, _termination(pod), unevictable(pod), live)


def is_daemon_set(owner: OwnerReference) -> bool:
    """Whether a controlling owner is a DaemonSet of Kubernetes, and not of another group."""
    return owner.kind == DAEMON_SET and owner.api_version.partition("/")[0] == "apps"


def is_mirror(pod: Pod) -> bool:
    """Whether the pod mirrors a static pod: kubelets mark it so, and make their Node its controlling owner.

    The mark alone is what any author of a pod can write; a static pod belongs to the node that it is on.
    """
    owner = pod.metadata.controller
    if MIRROR not in pod.metadata.annotations or owner is None:
        return False
    return (owner.api_version, owner.kind, owner.name) == ("v1", "Node", pod.spec.node_name)


def unevictable(pod: Pod) -> str:
    """Why the eviction API is not for this pod; empty where it is."""
    owner = pod.metadata.controller
    if owner is not None and is_daemon_set(owner):
        return (
            f"The pod belongs to DaemonSet {owner.name} and is not evicted through the API: "
            "it would be created again at once. The request completes when the pod terminates by other means."
        )
    if is_mirror(pod):
        return (
            "The pod mirrors a static pod of its node and is not evicted through the API: only the node can "
            "terminate it. The request completes when the pod terminates by other means."
        )
    return ""


def _termination(pod: Pod) -> Termination | None:
    if pod.metadata.deletion_timestamp is None:
        return None
    return Termination(pod.metadata.deletion_timestamp, tuple(pod.metadata.finalizers), pod.spec.node_name)
