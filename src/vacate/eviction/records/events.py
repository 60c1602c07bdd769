"""Events of the controller, on the request and on the pod.

`kubectl describe pod` should show that an eviction is requested: who requested it, which interceptor is
active, how each turn ended, what blocks the eviction. A plain eviction, accepted at once, has two Events in
all: one on the pod and one on the request.
"""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, Regarding, regarding
from vacate.api.kinds import PODS
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import IGNORED_REGISTRATION, EvictionRequest
from vacate.eviction.dialects.turn_conditions import last_message, result_of_turn
from vacate.eviction.model import Assign, CompletionReason, Finish, Hold, Skip, Stage, Supersede
from vacate.eviction.records.history import TurnResult
from vacate.eviction.records.patches import superseded_because

MAX_MESSAGE = 1024
"""Longer messages of events are refused by API servers."""

Notes = tuple[EventNote, ...]

ENDED = {
    TurnResult.COMPLETED: (NORMAL, "InterceptorCompleted"),
    TurnResult.DECLINED: (NORMAL, "InterceptorDeclined"),
    TurnResult.FAILED: (WARNING, "InterceptorFailed"),
    TurnResult.TIMED_OUT: (WARNING, "InterceptorTimedOut"),
    TurnResult.NEVER_RESPONDED: (WARNING, "InterceptorTimedOut"),
}


def finished(request: EvictionRequest, action: Finish) -> Notes:
    """The request is complete, and why; on the pod only where it is kept."""
    pod, cancelled = request.pod_name, action.reason is CompletionReason.CANCELLED
    if cancelled and request.spec.requesters and request.metadata.deletion_timestamp is None:
        text = "All interceptors have ended their turns, and the pod is still there."
        return (_about(request, WARNING, "NoFurtherResponder", text),)
    message = {
        CompletionReason.POD_DELETED: f"Pod {pod} is deleted.",
        CompletionReason.POD_TERMINATED: f"Pod {pod} has terminated.",
        CompletionReason.CANCELLED: f"The eviction of pod {pod} is cancelled.",
    }[action.reason]
    about = _about(request, NORMAL, action.reason.value, message)
    if not cancelled:
        return (about,)
    return about, _on_pod(request, NORMAL, "EvictionCancelled", "The eviction request is cancelled.")


def superseded(request: EvictionRequest, action: Supersede) -> Notes:
    """A new request takes over; on request and pod, with the requesters that it takes over."""
    text = f"{superseded_because(request, action)} Requested by {_requesters(request)}."
    kinds = NORMAL, "EvictionSuperseded"
    return _about(request, *kinds, text), _on_pod(request, *kinds, text)


def other_request(request: EvictionRequest, why: str) -> Notes:
    """A request of another API for the same pod comes first."""
    return (_about(request, NORMAL, "WaitsForOtherRequest", why),)


def went_past_because(request: EvictionRequest) -> str:
    """Why a prepared pod is deleted past its own budget, for the status and Events alike."""
    return (
        f"The pod is deleted past its own disruption budget, requested by {_requesters(request)}: its "
        "interceptors have completed, and its workload has the annotation vacate.dev/delete-when-prepared."
    )


def went_past(request: EvictionRequest) -> Notes:
    """A prepared pod was deleted past its own budget, as its owner allows."""
    text = went_past_because(request)
    kinds = WARNING, "DeletedPastBudget"
    return _about(request, *kinds, text), _on_pod(request, *kinds, text)


def skipped(request: EvictionRequest, action: Skip) -> Notes:
    """A user ended an interceptor's turn."""
    text = f"{action.by or 'A user'} skipped interceptor {action.interceptor}: its turn is over."
    kinds = WARNING, "InterceptorSkipped"
    return _about(request, *kinds, text), _on_pod(request, *kinds, text)


def assigned(request: EvictionRequest, action: Assign) -> Notes:
    """Whose turn it is, and how the turn before ended."""
    seconds = request.spec.heartbeat_deadline_seconds
    turn = f"Interceptor {action.interceptor} is active for pod {request.pod_name}."
    on_request = _about(request, NORMAL, "InterceptorAssigned", turn)
    active = f"Interceptor {action.interceptor} is active (heartbeat deadline {seconds} s)."
    if action.previous is None:
        text = f"Eviction requested by {_requesters(request)}. {active}"
        return on_request, _on_pod(request, NORMAL, "EvictionRequested", text)
    on_pod = _on_pod(request, NORMAL, "InterceptorAssigned", active)
    return *turn_ended(request, f"{action.interceptor} is active now."), on_request, on_pod


def turn_ended(request: EvictionRequest, then: str = "") -> Notes:
    """How the active interceptor's turn ended, on request and pod; a warning where it failed or timed out."""
    name = request.status.active_interceptor_name or ""
    result = result_of_turn(request, name)
    kind, reason = ENDED[result]
    message = last_message(request, name, result)
    text = f"{name} {_how(result, request.spec.heartbeat_deadline_seconds)}"
    text = f"{text}: {message.rstrip('.')}." if message else f"{text}."
    if not then:
        then = "The pod is evicted unprepared." if result.unprepared else "The pod is evicted next."
    full = f"{text} {then}"
    return _about(request, kind, reason, full), _on_pod(request, kind, reason, full)


def refused(request: EvictionRequest, why: str) -> Notes:
    """The eviction was refused, and why."""
    return (
        _about(request, WARNING, "EvictionRefused", why),
        _on_pod(
            request,
            WARNING,
            "EvictionBlocked",
            f"The eviction requested by {_requesters(request)} was refused: {why}",
        ),
    )


def evicted(request: EvictionRequest, pod: Pod) -> EventNote:
    """The eviction was accepted; on the pod, where users look when it terminates."""
    text = f"The pod is evicted, requested by {_requesters(request)}."
    return _note(regarding(PODS, pod), NORMAL, "EvictedByRequest", text)


def held(request: EvictionRequest, action: Hold) -> Notes:
    """Why there is no progress, where an administrator may have to act."""
    if action.message is None:
        return ()
    if action.stage is Stage.BLOCKED:
        return (
            _about(request, NORMAL, "NotEvictable", action.message),
            _on_pod(request, NORMAL, "EvictionBlocked", action.message),
        )
    if action.stage is Stage.TERMINATING and action.until is None:
        return (
            _about(request, WARNING, "TerminationOverdue", action.message),
            _on_pod(request, WARNING, "TerminationOverdue", action.message),
        )
    return ()


def heartbeat_corrected(request: EvictionRequest) -> EventNote:
    """A heartbeat lies in the future: the clock of the program that wrote it is wrong."""
    name, heartbeat = request.status.active_interceptor_name, request.status.heartbeat_time
    message = (
        f"The heartbeat of interceptor {name} ({heartbeat}) is in the future; it is set back to now. "
        "Check the clock of the program that wrote it."
    )
    return _about(request, WARNING, "HeartbeatInFuture", message)


def limit_reached(request: EvictionRequest, limit: str) -> Notes:
    """An administrator's limit ended the turns of interceptors."""
    return _about(request, WARNING, "LimitReached", limit), _on_pod(request, WARNING, "LimitReached", limit)


def registration_ignored(request: EvictionRequest) -> EventNote:
    """The pod's registration of interceptors cannot be read."""
    why = request.metadata.annotations.get(IGNORED_REGISTRATION, "")
    message = f"The registration of interceptors of pod {request.pod_name} is malformed and ignored: {why}"
    return _about(request, WARNING, "RegistrationIgnored", message)


def unadmitted(request: EvictionRequest) -> EventNote:
    """The request is not processed."""
    message = "The request did not pass Vacate's admission and is not processed."
    return _about(request, WARNING, "NotAdmitted", message)


def _how(result: TurnResult, deadline: int) -> str:
    match result:
        case TurnResult.FAILED:
            return "failed"
        case TurnResult.DECLINED:
            return "has declined"
        case TurnResult.TIMED_OUT:
            return f"timed out: no heartbeat for {deadline} s"
        case TurnResult.NEVER_RESPONDED:
            return f"timed out: it never responded within {deadline} s"
        case _:
            return "has completed"


def _about(request: EvictionRequest, kind: str, reason: str, message: str) -> EventNote:
    return _note(regarding(request.kind, request), kind, reason, message)


def _on_pod(request: EvictionRequest, kind: str, reason: str, message: str) -> EventNote:
    namespace = request.metadata.namespace
    about = Regarding(PODS.api_version, PODS.kind, request.pod_name, namespace, request.pod_uid)
    return _note(about, kind, reason, message)


def _note(about: Regarding, kind: str, reason: str, message: str) -> EventNote:
    return EventNote(about, kind, reason, message[:MAX_MESSAGE])


def _requesters(request: EvictionRequest) -> str:
    return ", ".join(one.name for one in request.spec.requesters) or "requesters that have withdrawn"
