"""What a turn does after each answer: call again, done, or failed. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from vacate.api.durations import human_duration
from vacate.api.times import after
from vacate.interceptors.hooks.protocol import Done, InProgress, Meaning, Refused, Unavailable
from vacate.sdk.values import Finished

FIRST_PAUSE, MAX_PAUSE = 1.0, 60.0
"""Seconds after a call without a usable answer, doubled each time."""


@dataclass(frozen=True, slots=True)
class CallAgain:
    """Report, wait for so many seconds, and call again."""

    seconds: float
    message: str
    expected_finish: dt.datetime | None = None
    failures: int = 0  # calls in a row without a usable answer, this one included


@dataclass(frozen=True, slots=True)
class Failed:
    """The preparation has failed."""

    why: str


Step = CallAgain | Finished | Failed

Deadline = Callable[[], dt.datetime]
"""When the hook must be done, as it is known now: its node may begin to shut down meanwhile."""


def deadline_of(began: dt.datetime, timeout: float, ends_at: dt.datetime | None) -> dt.datetime:
    """When the hook must be done: its own time since the turn began, or the end of the pod by its node."""
    own = after(began, timeout)
    return own if ends_at is None else min(own, ends_at)


def decide(target: str, meaning: Meaning, failures: int, now: dt.datetime, deadline: dt.datetime) -> Step:
    """The next step. `failures` are the calls in a row before this one that had no usable answer."""
    match meaning:
        case Done(message):
            return Finished(f"Hook {target}: {message}" if message else f"Hook {target} is done.")
        case Refused(why):
            return Failed(f"hook {target} has refused: {why}")
        case InProgress(message, finish, seconds):
            step = CallAgain(seconds, f"Hook {target}: {message or 'in progress'}", finish)
            why = f"hook {target} was still in progress" + (f": {message}" if message else "")
        case Unavailable(why_not, requested):
            pause = min(FIRST_PAUSE * 2.0 ** min(failures, 10), MAX_PAUSE)
            seconds = max(pause, requested or 0.0)
            step = CallAgain(
                seconds,
                f"Hook {target} gives no answer that can be used ({why_not}). Calling again.",
                failures=failures + 1,
            )
            why = f"hook {target} gave no answer that can be used: {why_not}"
    return step if now < deadline else overdue(why, now, deadline)


def overdue(why: str, now: dt.datetime, deadline: dt.datetime) -> Failed:
    """The time is over."""
    late = now - deadline
    ago = f" {human_duration(late)} ago" if late >= dt.timedelta(seconds=2) else ""
    return Failed(f"{why}, and its time was over{ago}")


def pause_until(seconds: float, now: dt.datetime, deadline: dt.datetime) -> float:
    """How long to wait: one last call is made when the time is over, since the work may be done by then."""
    return max(0.0, min(seconds, (deadline - now).total_seconds()))
