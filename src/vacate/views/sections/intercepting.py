"""The acts in which interceptors prepare the leave: asked, at work, silent, handed over."""

from __future__ import annotations

import datetime as dt

from vacate.api.types.evictionrequest import PROGRESSING
from vacate.api.types.meta import condition
from vacate.eviction.deadlines import deadline_of, next_turn
from vacate.eviction.dialects.evictionrequest.history import TurnResult
from vacate.eviction.dialects.evictionrequest.reader import has_responded
from vacate.eviction.dialects.turn_conditions import (
    FailureReason,
    failed_attempt,
    failure_of,
    is_held,
    result_of_turn,
)
from vacate.eviction.model import Assign, Hold, Stage, Turn
from vacate.views.model import ExplanationInput, Section
from vacate.views.phrases import ago, ahead, sentence, span
from vacate.views.remedies import (
    change_of_mind,
    decide_on_failure,
    find_interceptor,
    follow,
    look_for_controller,
)

EVICTED_NEXT = "the pod is evicted through the API, as far as its disruption budgets allow"


def at_work(scene: ExplanationInput, action: Hold) -> Section:
    """The active interceptor is within its deadline."""
    active = scene.process.active or ""
    responded = has_responded(scene.request)
    until = action.until
    if is_held(scene.request, active):
        return _held(scene, active, until)
    return Section(
        headline=(
            f"{active} prepares the leave of pod {scene.name}."
            if responded
            else f"Pod {scene.name} waits for {active}, which has been asked and has not responded yet."
        ),
        stage=Stage.INTERCEPTING,
        happened=_says(scene) if responded else (),
        awaited=(f"{active} is awaited: it ends the pod, or says that it has done its part.",)
        if responded
        else (f"A first report of {active} is awaited.",),
        next=(
            *_after_attempts(scene, active),
            f"Should it {_fall_silent(responded, until, scene.now)}, {_then(scene)}.",
        ),
        next_at=until,
        remedies=(
            follow(scene),
            *(() if responded else (find_interceptor(scene, active),)),
            *change_of_mind(scene),
        ),
    )


def _held(scene: ExplanationInput, active: str, until: dt.datetime | None) -> Section:
    """The interceptor has failed, and its author chose to wait for an administrator."""
    failure = failure_of(scene.request, active)
    said = f"{active} failed: {sentence(failure.message)}" if failure and failure.message else ""
    return Section(
        headline=f"Pod {scene.name} waits for an administrator: {active} has failed and holds its turn.",
        stage=Stage.INTERCEPTING,
        happened=(said,) if said else (),
        awaited=(f"An administrator's decision about {active} is awaited.",),
        next=(f"Should {active} {_fall_silent(True, until, scene.now)}, {_then(scene)}.",),
        next_at=until,
        remedies=(*decide_on_failure(scene), *change_of_mind(scene)),
    )


def _after_attempts(scene: ExplanationInput, active: str) -> tuple[str, ...]:
    """What happens when the attempts of an interceptor that fails are used up."""
    attempt = failed_attempt(scene.request, active)
    if attempt is None:
        return ()
    failure = failure_of(scene.request, active)
    if failure is not None and failure.reason == FailureReason.RETRYING_THEN_HOLD:
        then = f"{active} holds its turn until an administrator decides"
    elif following := next_turn(scene.process):
        then = f"{following} is asked next, without what {active} should have done"
    else:
        then = "the pod is evicted unprepared"
    if attempt.number >= attempt.limit:
        return (f"Attempt {attempt.number} of {attempt.limit} failed: {then}.",)
    one_left = attempt.number + 1 == attempt.limit
    rest = f"attempt {attempt.limit} fails" if one_left else f"attempts up to {attempt.limit} fail"
    return (f"Attempt {attempt.number} of {attempt.limit} failed; if {rest} too, {then}.",)


def turn_comes(scene: ExplanationInput, action: Assign) -> Section:
    """Someone's turn comes at once."""
    if action.turn is Turn.FIRST:
        headline = f"Pod {scene.name} is asked to leave; no interceptor has been asked yet."
        due: dt.datetime | None = scene.process.created
    elif action.turn is Turn.PREVIOUS_COMPLETED:
        headline = _ended(scene, action.previous or "")
        due = scene.process.heartbeat
    else:
        headline = f"{action.previous} has been silent for too long."
        due = deadline_of(scene.process)
    return Section(
        headline=headline,
        stage=Stage.INTERCEPTING,
        next=(f"{action.interceptor} is asked now to prepare the pod's leave.",),
        next_at=scene.now,
        remedies=(*look_for_controller(scene, due), *change_of_mind(scene)),
    )


def _ended(scene: ExplanationInput, interceptor: str) -> str:
    match result_of_turn(scene.request, interceptor):
        case TurnResult.FAILED:
            return f"{interceptor} has failed to prepare pod {scene.name}."
        case TurnResult.DECLINED:
            return f"{interceptor} has declined to prepare pod {scene.name}."
        case _:
            return f"{interceptor} has done its part in the leave of pod {scene.name}."


def overdue(scene: ExplanationInput, listening: Hold) -> Section:
    """Silent for too long, by a clock that may have listened longer than the controller has."""
    process, now = scene.process, scene.now
    active, share = process.active or "", process.deadline / 10
    deadline, latest = deadline_of(process), listening.until or now
    listen = (
        f"The controller gives nobody up before it has listened for {span(share)} without a gap, a tenth of "
    )
    by_then = f"{ahead(latest, now)} at the latest, if the controller runs"
    return Section(
        headline=f"{active} is overdue: its deadline passed {ago(deadline, now)}.",
        stage=Stage.INTERCEPTING,
        happened=_says(scene) if has_responded(scene.request) else (),
        awaited=(f"{listen}the deadline: an outage must not pass for silence.",),
        next=(f"Unless {active} reports before, {_then(scene)}: {by_then}.",),
        next_at=latest,
        remedies=(
            find_interceptor(scene, active),
            *look_for_controller(scene, deadline + share),
            *change_of_mind(scene),
        ),
    )


def _says(scene: ExplanationInput) -> tuple[str, ...]:
    """The interceptor's own words; the message that came with its turn is the controller's."""
    status = scene.request.status
    progress = condition(status.conditions, PROGRESSING)
    if not status.message.strip() or (progress is not None and progress.message == status.message):
        return ()
    return (f"It says: {sentence(status.message)}",)


def _fall_silent(responded: bool, until: dt.datetime | None, now: dt.datetime) -> str:
    again = "not report again" if responded else "not report"
    return again if until is None else f"{again} until {_moment(until, now)}"


def _moment(until: dt.datetime, now: dt.datetime) -> str:
    there = until.astimezone(dt.UTC)
    form = "%H:%M:%S" if there.date() == now.astimezone(dt.UTC).date() else "%Y-%m-%d %H:%M:%S"
    return f"{there.strftime(form)} UTC (in {span(until - now)})"


def _then(scene: ExplanationInput) -> str:
    following = next_turn(scene.process)
    return f"{following} is asked instead" if following else EVICTED_NEXT
