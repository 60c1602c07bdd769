"""The state of each interceptor's turn, in the order of the turns."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.deadlines import deadline_of
from vacate.eviction.dialects.turn_conditions import (
    is_held,
    last_message,
    past_turns,
    recorded_turn,
    result_of_turn,
)
from vacate.eviction.records.history import PastTurn, TurnResult
from vacate.eviction.records.reader import assigned, has_responded, process_of
from vacate.views.phrases import ago, ahead, sentence, span


class TurnState(StrEnum):
    """The state of an interceptor's turn."""

    COMPLETED = "Completed"
    TIMED_OUT = "TimedOut"
    NEVER_RESPONDED = "NeverResponded"
    DECLINED = "Declined"
    FAILED = "Failed"
    CANCELLED = "Cancelled"  # the request was cancelled during its turn
    POD_GONE = "PodGone"  # the pod ended during its turn
    HELD = "Held"  # active, failed, and waiting for an administrator
    ACTIVE = "Active"
    OVERDUE = "Overdue"  # active, and past its heartbeat deadline
    WAITING = "Waiting"
    NOT_NEEDED = "NotNeeded"  # the request completed before its turn
    UNKNOWN = "Unknown"  # it had its turn; how that ended is no longer recorded


@dataclass(frozen=True, slots=True)
class TurnView:
    """One interceptor and the state of its turn, as the rest of a sentence that begins with its name."""

    interceptor: str
    state: TurnState
    text: str
    began: dt.datetime | None = None
    ended: dt.datetime | None = None

    def __str__(self) -> str:
        return f"{self.interceptor} {self.text}"


_STATES = {
    TurnResult.COMPLETED: TurnState.COMPLETED,
    TurnResult.TIMED_OUT: TurnState.TIMED_OUT,
    TurnResult.NEVER_RESPONDED: TurnState.NEVER_RESPONDED,
    TurnResult.DECLINED: TurnState.DECLINED,
    TurnResult.FAILED: TurnState.FAILED,
    TurnResult.CANCELLED: TurnState.CANCELLED,
    TurnResult.POD_GONE: TurnState.POD_GONE,
}
_RESULTS = {
    TurnResult.COMPLETED: "was assigned {assigned} and completed after {took}.",
    TurnResult.TIMED_OUT: "was assigned {assigned}, responded, then timed out after {took}.",
    TurnResult.NEVER_RESPONDED: "was assigned {assigned}, never responded, and timed out after {took}.",
    TurnResult.DECLINED: "was assigned {assigned} and declined after {took}.",
    TurnResult.FAILED: "was assigned {assigned} and failed after {took}.",
    TurnResult.CANCELLED: "was assigned {assigned}; the request was cancelled after {took}.",
    TurnResult.POD_GONE: "was assigned {assigned}; the pod terminated after {took}.",
}


def turn_views(request: EvictionRequest, now: dt.datetime, *, idle: str = "") -> tuple[TurnView, ...]:
    """Every interceptor of the request, the one with the first turn first.

    `idle` describes the active interceptor while no deadline runs, and is empty while one does.
    """
    process = process_of(request)
    past = {turn.interceptor: turn for turn in past_turns(request)}
    if process.active and recorded_turn(request, process.active) is None:
        past.pop(process.active, None)  # it has come back after a time-out
    reached = process.interceptors.index(process.active) if process.active in process.interceptors else -1
    turns = []
    for place, name in enumerate(process.interceptors):
        if name in past:
            turns.append(_past(past[name], now))
        elif name == process.active:
            turns.append(_active(request, name, now, idle))
        elif place < reached:
            turns.append(TurnView(name, TurnState.UNKNOWN, "had its turn before."))
        else:
            turns.append(_later(name, over=bool(idle)))
    return tuple(turns)


def _past(turn: PastTurn, now: dt.datetime) -> TurnView:
    text = _RESULTS[turn.result].format(assigned=ago(turn.began, now), took=span(turn.ended - turn.began))
    if turn.message:
        text = f"{text} Its last message: {sentence(turn.message)}"
    return TurnView(turn.interceptor, _STATES[turn.result], text, turn.began, turn.ended)


def _later(name: str, *, over: bool) -> TurnView:
    if over:
        return TurnView(name, TurnState.NOT_NEEDED, "was not assigned.")
    return TurnView(name, TurnState.WAITING, "waits for its turn.")


def _active(request: EvictionRequest, name: str, now: dt.datetime, idle: str) -> TurnView:
    condition = assigned(request)
    began = condition.last_transition_time if condition else request.status.heartbeat_time
    since = f"was assigned {ago(began, now)}" if began else "has been assigned"
    if request.status.active_interceptor_completed:
        return _completed(request, name, since, began)
    if idle:
        return TurnView(name, TurnState.ACTIVE, f"{since} and {idle}.", began)
    if is_held(request, name):
        return TurnView(name, TurnState.HELD, f"{since}, failed, and waits for an administrator.", began)
    process = process_of(request)
    late = now - deadline_of(process)
    if late >= dt.timedelta():
        state, rest = TurnState.OVERDUE, _past_deadline(request, span(process.deadline), now)
    else:
        state, rest = TurnState.ACTIVE, _progress(request, now)
    return TurnView(name, state, f"{since}{rest}", began)


def _completed(request: EvictionRequest, name: str, since: str, began: dt.datetime | None) -> TurnView:
    """Its turn is over, and the controller has not recorded that yet."""
    result = result_of_turn(request, name)
    how = {TurnResult.FAILED: "has failed", TurnResult.DECLINED: "has declined"}
    text = f"{since} and {how.get(result, 'has completed')}."
    if result in how and (message := last_message(request, name, result)):
        text = f"{text} Its last message: {sentence(message)}"
    return TurnView(name, _STATES[result], text, began)


def _past_deadline(request: EvictionRequest, deadline: str, now: dt.datetime) -> str:
    heartbeat = request.status.heartbeat_time
    if not has_responded(request) or heartbeat is None:
        return f" and has not responded within its heartbeat deadline of {deadline}."
    return f"; its last heartbeat was {ago(heartbeat, now)}, longer ago than its deadline of {deadline}."


def _progress(request: EvictionRequest, now: dt.datetime) -> str:
    status = request.status
    if not has_responded(request) or status.heartbeat_time is None:
        return " and has not responded yet."
    heartbeat = f"; last heartbeat {ago(status.heartbeat_time, now)}"
    finish = status.expected_interceptor_finish_time
    if finish is None:
        return f"{heartbeat}; no expected finish time."
    if finish <= now:
        return f"{heartbeat}; it expected to finish {ago(finish, now)}."
    return f"{heartbeat}; it expects to finish {ahead(finish, now)}."
