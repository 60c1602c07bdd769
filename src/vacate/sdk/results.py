"""How a request ended, as its requesters want to know it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.turn_conditions import last_message, past_turns, result_of_turn
from vacate.eviction.model import CompletionReason
from vacate.eviction.records.history import PastTurn, TurnResult
from vacate.eviction.records.reader import assigned, is_superseded
from vacate.sdk.turnstate import completion_reason

VANISHED = "The pod is deleted, and the request with it."
REMOVED = "The request was deleted while the pod stayed."


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a request."""

    reason: CompletionReason
    message: str
    history: tuple[PastTurn, ...] = ()  # each interceptor's turn, oldest first
    request: EvictionRequest | None = None  # as it was last seen; None where it never was

    @property
    def pod_ended(self) -> bool:
        """Whether the pod is deleted or has terminated, as opposed to a cancelled request."""
        return self.reason is not CompletionReason.CANCELLED

    @property
    def failures(self) -> tuple[PastTurn, ...]:
        """The turns of interceptors that failed or timed out: the pod went on without what they do."""
        return tuple(turn for turn in self.history if turn.result.unprepared)


def result_of(request: EvictionRequest) -> Result | None:
    """The result that the request itself records; None while it goes on, and while a new one takes over."""
    reason = completion_reason(request)
    if reason is None or is_superseded(request):
        return None
    return Result(reason, request.status.message, history_of(request), request)


def confirmed(result: Result, pod: Pod | None) -> Result:
    """The result, where the pod of that UID agrees: `pod` is what the server itself shows of it.

    A status can have been written by another client than the controller. A caller that waits for a pod must
    not go on while it runs.
    """
    if not result.pod_ended or pod is None or pod.terminal:
        return result
    message = (
        f"The request says {result.reason.value}, but pod {pod.metadata.name} with UID {pod.metadata.uid} is "
        "still there: the status was not written by Vacate's controller. Request the eviction again."
    )
    return replace(result, reason=CompletionReason.CANCELLED, message=message)


def result_without(last: EvictionRequest | None, now: dt.datetime, *, pod_is_there: bool) -> Result:
    """The result of a request that is no longer there: vanished with its pod, or removed by someone.

    A request may be collected with its pod before the controller has written down how it ended.
    """
    recorded = result_of(last) if last is not None else None
    if recorded is not None and (recorded.pod_ended or pod_is_there):
        return recorded
    reason = CompletionReason.CANCELLED if pod_is_there else CompletionReason.POD_DELETED
    message = REMOVED if pod_is_there else VANISHED
    cut_off = TurnResult.CANCELLED if pod_is_there else TurnResult.POD_GONE
    turns = (*history_of(last), *_unfinished(last, now, cut_off)) if last else ()
    return Result(reason, message, turns, last)


def result_with(result: Result, process: EvictionRequest, now: dt.datetime) -> Result:
    """The result with the turns of an eviction that is another object, as it was last seen."""
    ended = result_without(process, now, pod_is_there=not result.pod_ended)
    return replace(result, history=ended.history)


def history_of(request: EvictionRequest) -> tuple[PastTurn, ...]:
    """The turns that have ended so far."""
    return tuple(past_turns(request))


def _unfinished(request: EvictionRequest, now: dt.datetime, cut_off: TurnResult) -> tuple[PastTurn, ...]:
    """The turn that the end of the request has cut off."""
    name, began = request.status.active_interceptor_name, assigned(request)
    known = any(turn.interceptor == name for turn in history_of(request))
    if not name or began is None or request.complete or known:
        return ()
    result = result_of_turn(request, name) if request.status.active_interceptor_completed else cut_off
    message = last_message(request, name, result)
    return (PastTurn(name, began.last_transition_time or now, result, now, message),)
