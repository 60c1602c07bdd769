"""What became of each interceptor, in the order of their turns."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.deadlines import deadline_of
from vacate.eviction.dialects.evictionrequest.history import PastTurn, TurnResult
from vacate.eviction.dialects.evictionrequest.reader import assigned, has_responded, process_of
from vacate.eviction.dialects.turn_conditions import (
    is_held,
    last_message,
    past_turns,
    recorded_turn,
    result_of_turn,
)
from vacate.views.phrases import ago, ahead, sentence, span


class TurnState(StrEnum):
    """How it stands with an interceptor's turn."""

    COMPLETED = "Completed"
    TIMED_OUT = "TimedOut"
    NEVER_RESPONDED = "NeverResponded"
    DECLINED = "Declined"
    FAILED = "Failed"
    CANCELLED = "Cancelled"  # the request was cancelled during its turn
    POD_GONE = "PodGone"  # the pod ended during its turn
    HELD = "Held"  # active, failed, and waiting for an administrator
    ACTIVE = "Active"
    OVERDUE = "Overdue"  # active, and silent for longer than the deadline
    WAITING = "Waiting"
    NOT_NEEDED = "NotNeeded"  # the request was over before its turn
    UNKNOWN = "Unknown"  # it had its turn; how that ended is no longer kept


@dataclass(frozen=True, slots=True)
class TurnView:
    """One interceptor, and what became of it, as the rest of a sentence that begins with its name."""

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
_FATES = {
    TurnResult.COMPLETED: "was asked {asked} and completed its part after {took}.",
    TurnResult.TIMED_OUT: "was asked {asked}, responded, then fell silent, and was given up after {took}.",
    TurnResult.NEVER_RESPONDED: "was asked {asked}, never responded, and was given up after {took}.",
    TurnResult.DECLINED: "was asked {asked} and declined after {took}.",
    TurnResult.FAILED: "was asked {asked} and failed after {took}.",
    TurnResult.CANCELLED: "was asked {asked} and had the turn when the request was cancelled after {took}.",
    TurnResult.POD_GONE: "was asked {asked} and had the turn when the pod ended after {took}.",
}


def turn_views(request: EvictionRequest, now: dt.datetime, *, idle: str = "") -> tuple[TurnView, ...]:
    """Every interceptor of the request, the one with the first turn first.

    `idle` is what is said of the one who has the turn while nobody's time runs, and empty while it does.
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
    text = _FATES[turn.result].format(asked=ago(turn.began, now), took=span(turn.ended - turn.began))
    if turn.message:
        text = f"{text} Its last message: {sentence(turn.message)}"
    return TurnView(turn.interceptor, _STATES[turn.result], text, turn.began, turn.ended)


def _later(name: str, *, over: bool) -> TurnView:
    if over:
        return TurnView(name, TurnState.NOT_NEEDED, "was not asked.")
    return TurnView(name, TurnState.WAITING, "waits for its turn.")


def _active(request: EvictionRequest, name: str, now: dt.datetime, idle: str) -> TurnView:
    condition = assigned(request)
    began = condition.last_transition_time if condition else request.status.heartbeat_time
    asked = f"was asked {ago(began, now)}" if began else "has been asked"
    if request.status.active_interceptor_completed:
        return _completed(request, name, asked, began)
    if idle:
        return TurnView(name, TurnState.ACTIVE, f"{asked} and {idle}.", began)
    if is_held(request, name):
        return TurnView(name, TurnState.HELD, f"{asked}, failed, and waits for an administrator.", began)
    process = process_of(request)
    late = now - deadline_of(process)
    if late >= dt.timedelta():
        state, rest = TurnState.OVERDUE, _silent(request, span(process.deadline), now)
    else:
        state, rest = TurnState.ACTIVE, _progress(request, now)
    return TurnView(name, state, f"{asked}{rest}", began)


def _completed(request: EvictionRequest, name: str, asked: str, began: dt.datetime | None) -> TurnView:
    """Its turn is over, and the controller has not written that down yet."""
    result = result_of_turn(request, name)
    how = {TurnResult.FAILED: "has failed", TurnResult.DECLINED: "has declined"}
    text = f"{asked} and {how.get(result, 'has completed its part')}."
    if result in how and (said := last_message(request, name, result)):
        text = f"{text} Its last message: {sentence(said)}"
    return TurnView(name, _STATES[result], text, began)


def _silent(request: EvictionRequest, deadline: str, now: dt.datetime) -> str:
    heard = request.status.heartbeat_time
    if not has_responded(request) or heard is None:
        return f" and has not responded within its deadline of {deadline}."
    return f" and last reported {ago(heard, now)}, longer ago than its deadline of {deadline}."


def _progress(request: EvictionRequest, now: dt.datetime) -> str:
    status = request.status
    if not has_responded(request) or status.heartbeat_time is None:
        return " and has not responded yet."
    reported = f", last reported {ago(status.heartbeat_time, now)}"
    finish = status.expected_interceptor_finish_time
    if finish is None:
        return f"{reported}, and gives no time at which it will be done."
    if finish <= now:
        return f"{reported}, and expected to be done {ago(finish, now)}."
    return f"{reported}, and expects to be done {ahead(finish, now)}."
