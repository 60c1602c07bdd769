"""The sections in which interceptors prepare the pod: assigned, active, overdue, handed over."""

from __future__ import annotations

import datetime as dt

from vacate.api.types.evictionrequest import PROGRESSING
from vacate.api.types.meta import condition
from vacate.eviction.deadlines import deadline_of, next_turn
from vacate.eviction.dialects.turn_conditions import (
    FailureReason,
    failed_attempt,
    failure_of,
    is_held,
    result_of_turn,
)
from vacate.eviction.model import Assign, Hold, Stage, Turn
from vacate.eviction.records.history import TurnResult
from vacate.eviction.records.reader import has_responded
from vacate.views.model import ExplanationInput, Section
from vacate.views.phrases import ago, ahead, at, sentence, span
from vacate.views.remedies import (
    cancellation,
    decide_on_failure,
    find_interceptor,
    follow,
    look_for_controller,
    skip_interceptor,
)

EVICTED_NEXT = "the pod is evicted through the API as soon as its disruption budgets allow it"


def at_work(inputs: ExplanationInput, action: Hold) -> Section:
    """The active interceptor is within its deadline."""
    active = inputs.process.active or ""
    responded = has_responded(inputs.request)
    until = action.until
    if is_held(inputs.request, active):
        return _held(inputs, active, until)
    return Section(
        headline=(
            f"Interceptor {active} is preparing pod {inputs.name} for eviction."
            if responded
            else f"Pod {inputs.name} waits for interceptor {active}, which has not responded yet."
        ),
        stage=Stage.INTERCEPTING,
        happened=_message(inputs) if responded else (),
        awaited=(f"Waiting for {active} to terminate the pod or to complete its turn.",)
        if responded
        else (f"Waiting for the first heartbeat of {active}.",),
        next=(
            *_after_attempts(inputs, active),
            f"If it {_no_heartbeat(responded, until, inputs.now)}, {_then(inputs)}.",
        ),
        next_at=until,
        remedies=(
            follow(inputs),
            *(() if responded else (find_interceptor(inputs, active),)),
            skip_interceptor(inputs, active),
            *cancellation(inputs),
        ),
    )


def _held(inputs: ExplanationInput, active: str, until: dt.datetime | None) -> Section:
    """The interceptor has failed, and its author chose to wait for an administrator."""
    failure = failure_of(inputs.request, active)
    failed = f"{active} failed: {sentence(failure.message)}" if failure and failure.message else ""
    return Section(
        headline=f"Pod {inputs.name} waits for an administrator: {active} has failed and holds its turn.",
        stage=Stage.INTERCEPTING,
        happened=(failed,) if failed else (),
        awaited=(f"Waiting for an administrator to decide about {active}.",),
        next=(f"If {active} {_no_heartbeat(True, until, inputs.now)}, {_then(inputs)}.",),
        next_at=until,
        remedies=(*decide_on_failure(inputs), *cancellation(inputs)),
    )


def _after_attempts(inputs: ExplanationInput, active: str) -> tuple[str, ...]:
    """What happens when the attempts of an interceptor that fails are used up."""
    attempt = failed_attempt(inputs.request, active)
    if attempt is None:
        return ()
    failure = failure_of(inputs.request, active)
    if failure is not None and failure.reason == FailureReason.RETRYING_THEN_HOLD:
        then = f"{active} holds its turn until an administrator decides"
    elif following := next_turn(inputs.process):
        then = f"{following} is assigned next, although {active} did not prepare the pod"
    else:
        then = "the pod is evicted unprepared"
    if attempt.number >= attempt.limit:
        return (f"Attempt {attempt.number} of {attempt.limit} failed: {then}.",)
    one_left = attempt.number + 1 == attempt.limit
    rest = f"attempt {attempt.limit} fails" if one_left else f"attempts up to {attempt.limit} fail"
    return (f"Attempt {attempt.number} of {attempt.limit} failed; if {rest} too, {then}.",)


def turn_comes(inputs: ExplanationInput, action: Assign) -> Section:
    """The next turn begins now."""
    if action.turn is Turn.FIRST:
        headline = f"The eviction of pod {inputs.name} is requested; no interceptor is active yet."
        due: dt.datetime | None = inputs.process.created
    elif action.turn is Turn.PREVIOUS_COMPLETED:
        headline = _ended(inputs, action.previous or "")
        due = inputs.process.heartbeat
    else:
        headline = f"Interceptor {action.previous} has timed out: it missed its heartbeat deadline."
        due = deadline_of(inputs.process)
    return Section(
        headline=headline,
        stage=Stage.INTERCEPTING,
        next=(f"{action.interceptor} becomes the active interceptor now.",),
        next_at=inputs.now,
        remedies=(*look_for_controller(inputs, due), *cancellation(inputs)),
    )


def _ended(inputs: ExplanationInput, interceptor: str) -> str:
    match result_of_turn(inputs.request, interceptor):
        case TurnResult.FAILED:
            return f"Interceptor {interceptor} has failed to prepare pod {inputs.name}."
        case TurnResult.DECLINED:
            return f"Interceptor {interceptor} has declined to prepare pod {inputs.name}."
        case _:
            return f"Interceptor {interceptor} has completed its turn for pod {inputs.name}."


def overdue(inputs: ExplanationInput, just_started: Hold) -> Section:
    """Past its deadline, while the controller may not have watched for long enough to time it out."""
    process, now = inputs.process, inputs.now
    active, share = process.active or "", process.deadline / 10
    deadline, latest = deadline_of(process), just_started.until or now
    watched = (
        f"The controller times out an interceptor only after it has watched for {span(share)} without "
        "interruption (a tenth of the deadline), so that an outage is not mistaken for a missing heartbeat."
    )
    by_then = f"{ahead(latest, now)} at the latest, if the controller runs"
    return Section(
        headline=f"Interceptor {active} is overdue: its heartbeat deadline passed {ago(deadline, now)}.",
        stage=Stage.INTERCEPTING,
        happened=_message(inputs) if has_responded(inputs.request) else (),
        awaited=(watched,),
        next=(f"Unless {active} sends a heartbeat first, it times out {by_then}; then {_next(inputs)}.",),
        next_at=latest,
        remedies=(
            find_interceptor(inputs, active),
            skip_interceptor(inputs, active),
            *look_for_controller(inputs, deadline + share),
            *cancellation(inputs),
        ),
    )


def _message(inputs: ExplanationInput) -> tuple[str, ...]:
    """The interceptor's own message; the one that came with its turn is the controller's."""
    status = inputs.request.status
    progress = condition(status.conditions, PROGRESSING)
    if not status.message.strip() or (progress is not None and progress.message == status.message):
        return ()
    return (f"Its message: {sentence(status.message)}",)


def _no_heartbeat(responded: bool, until: dt.datetime | None, now: dt.datetime) -> str:
    missed = "sends no further heartbeat" if responded else "sends no heartbeat"
    return missed if until is None else f"{missed} by {at(until, now)} (in {span(until - now)})"


def _then(inputs: ExplanationInput) -> str:
    return f"it times out and {_next(inputs)}"


def _next(inputs: ExplanationInput) -> str:
    following = next_turn(inputs.process)
    return f"{following} is assigned" if following else EVICTED_NEXT
