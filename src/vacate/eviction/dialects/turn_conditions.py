"""How an interceptor reports that its turn failed or was declined: a condition of its own.

In the API a turn only completes or times out. An interceptor that could not prepare the pod completes its
turn too, and in the same write sets a condition whose type begins with its own name:
`backup.example.com/Failed` or `backup.example.com/Declined`. Any program may write them; the SDK does.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from vacate.api.text import plain
from vacate.api.types.evictionrequest import PROGRESSING, EvictionRequest, RequestCondition
from vacate.api.types.meta import condition
from vacate.eviction.deadlines import CLOCK_TOLERANCE, deadline_of
from vacate.eviction.records.history import PastTurn, TurnResult, read_history
from vacate.eviction.records.reader import assigned, has_responded, process_of

MESSAGE_LENGTH = 256
"""How much of an interceptor's last message the history keeps."""

_MAX_KEYED = 300  # of the 316 that a condition's type may have
_UNSUCCESSFUL = (
    TurnResult.DECLINED,
    TurnResult.FAILED,
    TurnResult.TIMED_OUT,
    TurnResult.NEVER_RESPONDED,
)
_ATTEMPT = re.compile(r"Attempt (\d{1,6}) of (\d{1,6}) failed\b")


class FailureReason(StrEnum):
    """Why an interceptor has its condition `Failed`."""

    HANDED_OVER = "HandedOver"  # True: it could not prepare the pod, and the turn is over
    HELD = "Held"  # True: it could not prepare the pod, and keeps the turn until an administrator decides
    SKIPPED = "Skipped"  # True: a user has ended the turn, which the interceptor had not
    RETRYING = "Retrying"  # False: an attempt failed; after the last one the turn is handed over
    RETRYING_THEN_HOLD = "RetryingThenHold"  # False: an attempt failed; after the last one the turn is held
    RECOVERED = "Recovered"  # False: a later attempt succeeded


class Attempt(NamedTuple):
    """A failed attempt, of how many."""

    number: int
    limit: int


def failed_type(interceptor: str) -> str:
    """The type of the condition that says that an interceptor has failed."""
    return _condition_type(interceptor, "Failed")


def declined_type(interceptor: str) -> str:
    """The type of the condition that says that an interceptor had nothing to do."""
    return _condition_type(interceptor, "Declined")


def _condition_type(interceptor: str, what: str) -> str:
    """Below the interceptor's name; where that is a key of a domain, as part of the key."""
    return f"{interceptor[:_MAX_KEYED]}.{what}" if "/" in interceptor else f"{interceptor}/{what}"


def failure_of(request: EvictionRequest, interceptor: str) -> RequestCondition | None:
    """The interceptor's report of a failure, final or not."""
    return condition(request.status.conditions, failed_type(interceptor))


def is_held(request: EvictionRequest, interceptor: str) -> bool:
    """Whether the interceptor has failed and waits for an administrator."""
    found = failure_of(request, interceptor)
    return found is not None and found.status == "True" and found.reason == FailureReason.HELD


def attempt_failed(attempt: int, limit: int, error: str) -> str:
    """The message about one failed attempt."""
    return f"Attempt {attempt} of {limit} failed: {error}"


def failed_attempt(request: EvictionRequest, interceptor: str) -> Attempt | None:
    """The attempt that failed last, while the interceptor tries again; None where none did."""
    found = failure_of(request, interceptor)
    if found is None or found.status != "False" or found.reason == FailureReason.RECOVERED:
        return None
    numbers = _ATTEMPT.match(found.message)
    return Attempt(int(numbers[1]), int(numbers[2])) if numbers else None


def result_of_turn(request: EvictionRequest, interceptor: str) -> TurnResult:
    """How the active interceptor's turn ended, given that it has ended and the request goes on."""
    if not request.status.active_interceptor_completed:
        return TurnResult.TIMED_OUT if has_responded(request) else TurnResult.NEVER_RESPONDED
    if _is_true(request, failed_type(interceptor)):
        return TurnResult.FAILED
    return TurnResult.DECLINED if _is_true(request, declined_type(interceptor)) else TurnResult.COMPLETED


def last_message(request: EvictionRequest, interceptor: str, result: TurnResult) -> str:
    """The active interceptor's last message, in one line; empty where there is none."""
    types = {TurnResult.FAILED: failed_type, TurnResult.DECLINED: declined_type}
    if result in types:
        found = condition(request.status.conditions, types[result](interceptor))
        return plain(found.message, MESSAGE_LENGTH) if found else ""
    progress = condition(request.status.conditions, PROGRESSING)
    message = request.status.message
    by_controller = progress is not None and progress.message == message
    return "" if by_controller or not has_responded(request) else plain(message, MESSAGE_LENGTH)


def past_turns(request: EvictionRequest) -> list[PastTurn]:
    """The recorded turns that have ended, oldest first."""
    found = assigned(request)
    return read_history(found.message) if found else []


def is_prepared(request: EvictionRequest) -> bool:
    """Whether every interceptor had its turn, none failed or timed out, and one at least prepared the pod."""
    ended = {turn.interceptor: turn.result for turn in past_turns(request)}
    results = [ended.get(one.name) for one in request.spec.interceptors]
    good = (TurnResult.COMPLETED, TurnResult.DECLINED)
    return TurnResult.COMPLETED in results and all(one in good for one in results)


def unsuccessful_turns(request: EvictionRequest) -> list[PastTurn]:
    """The turns that have not prepared the pod, oldest first."""
    return [turn for turn in past_turns(request) if turn.result in _UNSUCCESSFUL]


def recorded_turn(request: EvictionRequest, interceptor: str) -> PastTurn | None:
    """The record of the active interceptor's turn, where it has ended and that still holds.

    After a time-out the interceptor may have come back: by a newer heartbeat, or by completing its turn. That
    it declined stays on record when it takes that back: it asks for another turn, and has not had it.
    """
    known = next((turn for turn in past_turns(request) if turn.interceptor == interceptor), None)
    if known is None or request.complete:
        return known
    if request.status.active_interceptor_completed:
        again = interceptor in reconsidered(request)
        return known if again or known.result is result_of_turn(request, interceptor) else None
    return known if known.ended + CLOCK_TOLERANCE >= deadline_of(process_of(request)) else None


def reconsidered(request: EvictionRequest) -> tuple[str, ...]:
    """The interceptors that declined their turns and have taken that back: they ask for another turn.

    An interceptor does so by setting its condition to False. That it declined is in the history, which
    only the controller writes.
    """
    return tuple(
        turn.interceptor
        for turn in past_turns(request)
        if turn.result is TurnResult.DECLINED
        and (found := condition(request.status.conditions, declined_type(turn.interceptor))) is not None
        and found.status == "False"
    )


def has_ended(request: EvictionRequest) -> bool:
    """Whether the active interceptor's turn is over, by its own report or the controller's record."""
    active = request.status.active_interceptor_name
    if not active or request.status.active_interceptor_completed:
        return True
    return recorded_turn(request, active) is not None


def _is_true(request: EvictionRequest, kind: str) -> bool:
    found = condition(request.status.conditions, kind)
    return found is not None and found.status == "True"
