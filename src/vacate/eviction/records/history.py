"""How each interceptor's turn ended, kept in the message of one condition.

The status holds one active interceptor only. Explanations need the earlier ones too, so each turn that ended
is one line: name, beginning, result, end, and the interceptor's last message.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from vacate.api.times import format_exact_time, parse_time
from vacate.api.types.evictionrequest import MAX_MESSAGE


class TurnResult(StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"  # the interceptor completed its turn
    DECLINED = "declined"  # it had nothing to do
    FAILED = "failed"  # it could not prepare the pod, and reported so
    TIMED_OUT = "timed-out"  # it responded at first and then missed its heartbeat deadline
    NEVER_RESPONDED = "never-responded"  # it timed out without a single heartbeat
    CANCELLED = "cancelled"  # the request was cancelled during its turn
    POD_GONE = "pod-gone"  # the pod terminated during its turn, by the interceptor itself or by others

    @property
    def unprepared(self) -> bool:
        """Whether the interceptor did not prepare the pod."""
        return self in (TurnResult.FAILED, TurnResult.TIMED_OUT, TurnResult.NEVER_RESPONDED)


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One interceptor's turn."""

    interceptor: str
    began: dt.datetime
    result: TurnResult
    ended: dt.datetime
    message: str = ""  # the interceptor's last message, in one line

    def __str__(self) -> str:
        times = format_exact_time(self.began), format_exact_time(self.ended)
        return f"{self.interceptor} {times[0]} {self.result.value} {times[1]} {self.message}".rstrip()


def write_history(turns: Iterable[PastTurn]) -> str:
    """One line each, oldest first.

    Where there is no room for all, the messages of the oldest go first, and then the oldest themselves.
    """
    kept = list(turns)
    lines = [str(turn) for turn in kept]
    place = 0
    while lines and _length(lines) > MAX_MESSAGE:
        if place < len(lines):
            lines[place] = str(replace(kept[place], message=""))
            place += 1
        else:
            del lines[0]
    return "\n".join(lines)


def _length(lines: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def read_history(text: str) -> list[PastTurn]:
    """The turns in the text; lines of another form are skipped."""
    return [turn for line in text.splitlines() if (turn := _read_line(line)) is not None]


def _read_line(line: str) -> PastTurn | None:
    try:
        name, began, result, ended, *message = line.split(" ", 4)
        return PastTurn(name, parse_time(began), TurnResult(result), parse_time(ended), "".join(message))
    except ValueError:
        return None
