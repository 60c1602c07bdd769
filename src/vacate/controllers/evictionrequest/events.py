"""What the controller tells people: on the pod that its eviction began, everything else on the request."""

from __future__ import annotations

from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.decide.process.model import Assign, Ending, Finish, Hold, Stage, Turn
from vacate.runtime.events import NORMAL, WARNING, EventNote, Regarding, regarding

MAX_MESSAGE = 1024
"""Longer messages of events are refused by API servers."""


def finished(request: EvictionRequest, action: Finish) -> EventNote:
    """The request is over, and how."""
    pod = _pod_name(request)
    message = {
        Ending.POD_DELETED: f"Pod {pod} is gone.",
        Ending.POD_TERMINATED: f"Pod {pod} has ended.",
        Ending.CANCELLED: f"Nobody requests the eviction of pod {pod} any more.",
    }[action.ending]
    return _about(request, NORMAL, action.ending.value, message)


def assigned(request: EvictionRequest, action: Assign) -> EventNote:
    """Whose turn it is; a warning where the one before was given up."""
    asked = f"{action.interceptor} is asked to prepare the leave of pod {_pod_name(request)}."
    if action.turn is not Turn.PREVIOUS_TIMED_OUT:
        return _about(request, NORMAL, "InterceptorAssigned", asked)
    seconds = request.spec.heartbeat_deadline_seconds
    message = f"{action.previous} did not report within {seconds} s. {asked}"
    return _about(request, WARNING, "InterceptorTimedOut", message)


def refused(request: EvictionRequest, why: str) -> EventNote:
    """The eviction was refused, and why."""
    return _about(request, WARNING, "EvictionRefused", why)


def evicted(request: EvictionRequest, pod: Pod) -> EventNote:
    """The eviction was accepted; on the pod, where people look when it goes."""
    names = ", ".join(one.name for one in request.spec.requesters) or "nobody any more"
    return _note(
        regarding(PODS, pod), NORMAL, "EvictedByRequest", f"The pod is evicted, requested by {names}."
    )


def held(request: EvictionRequest, action: Hold) -> EventNote | None:
    """Why nothing moves, where a person may have to do something about it."""
    if action.message is None:
        return None
    if action.stage is Stage.BLOCKED:
        return _about(request, NORMAL, "NotEvictable", action.message)
    if action.stage is Stage.TERMINATING and action.until is None:
        return _about(request, WARNING, "TerminationOverdue", action.message)
    return None


def unadmitted(request: EvictionRequest) -> EventNote:
    """The request is not processed."""
    message = "The request did not pass Vacate's admission and is not processed."
    return _about(request, WARNING, "NotAdmitted", message)


def _about(request: EvictionRequest, kind: str, reason: str, message: str) -> EventNote:
    return _note(regarding(EVICTIONREQUESTS, request), kind, reason, message)


def _note(about: Regarding, kind: str, reason: str, message: str) -> EventNote:
    return EventNote(about, kind, reason, message[:MAX_MESSAGE])


def _pod_name(request: EvictionRequest) -> str:
    ref = request.spec.target.pod_ref
    return ref.name if ref else ""
