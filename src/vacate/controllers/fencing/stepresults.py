"""What the steps of a fence have in common: their result, and the words for it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from msgspec.structs import replace

from vacate.api.times import after, format_time
from vacate.api.types.fencingpolicy import (
    FAILED,
    MAX_MESSAGE,
    FencingPolicy,
    NodeFencing,
)
from vacate.fencing.annotations import MAX_HELD, SLACK
from vacate.fencing.decision import MAX_PAUSE

FIRST_RETRY = 30.0
MAX_ATTEMPTS = 1_000_000
NOTHING = "Nothing was released"


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one step came to: another row, the end of the row, or a time to look again."""

    row: NodeFencing | None = None
    gone: bool = False  # the row is dropped
    later: dt.datetime | None = None
    reason: str = ""  # of an Event; none where it is empty
    message: str = ""

    @property
    def changes(self) -> bool:
        """Whether the status must be written."""
        return self.gone or self.row is not None


def wait(now: dt.datetime, seconds: float) -> StepResult:
    """Look again later."""
    return StepResult(later=after(now, seconds))


def seconds_held(policy: FencingPolicy) -> float:
    """For how long others leave a step alone: the calls of its agent are bounded, and the rest is quick."""
    return 3.0 * policy.spec.agent.timeout_seconds + SLACK


def step_identity(policy: FencingPolicy, row: NodeFencing) -> str:
    """The step that was recorded, in one line: the same after a lost answer, another at each new attempt."""
    held = "" if row.hold_time is None else format_time(row.hold_time)
    return f"{policy.metadata.uid} {row.uid} {row.phase} {row.attempts} {held}"


def held_until(row: NodeFencing, now: dt.datetime) -> dt.datetime | None:
    """Until when the holder of a row is left alone; None where that is over, or was never so."""
    until = row.hold_time
    return until if until is not None and now < until <= after(now, MAX_HELD) else None


def failed(
    row: NodeFencing, why: str, power: str, now: dt.datetime, *, pause: float | None = None
) -> StepResult:
    """Nothing is released; the fence is tried again after a pause that grows."""
    attempts = min(max(row.attempts, 0) + 1, MAX_ATTEMPTS)  # another client may have written anything
    if pause is None:
        pause = min(FIRST_RETRY * 2.0 ** min(attempts - 1, 10), MAX_PAUSE)
    message = f"{why}. {NOTHING}"[:MAX_MESSAGE]
    changed = replace(
        row,
        phase=FAILED,
        attempts=attempts,
        power=power,
        retry_time=after(now.replace(microsecond=0), pause),
        holder="",
        hold_time=None,
        message=message,
    )
    return StepResult(changed, reason="FencingFailed", message=message)
