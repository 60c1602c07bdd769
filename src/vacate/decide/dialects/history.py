"""What became of each interceptor's turn, kept in the message of one condition.

The status has room for one active interceptor only. Whoever explains a request needs those before it too,
so each turn that ended leaves a line: name, beginning, how it ended, end. The lines travel with writes that
happen anyway.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from vacate.api.times import format_exact_time, parse_time
from vacate.api.types.evictionrequest import MAX_MESSAGE


class TurnResult(StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"  # it said so
    TIMED_OUT = "timed-out"  # it responded at first and then fell silent
    NEVER_RESPONDED = "never-responded"
    ENDED = "ended"  # the request was over during its turn


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One interceptor's turn."""

    interceptor: str
    began: dt.datetime
    result: TurnResult
    ended: dt.datetime

    def __str__(self) -> str:
        times = format_exact_time(self.began), format_exact_time(self.ended)
        return f"{self.interceptor} {times[0]} {self.result.value} {times[1]}"


def write_history(turns: Iterable[PastTurn]) -> str:
    """One line each, oldest first; the oldest go where there is no room for all."""
    lines = [str(turn) for turn in turns]
    while lines and sum(len(line) + 1 for line in lines) > MAX_MESSAGE:
        del lines[0]
    return "\n".join(lines)


def read_history(text: str) -> list[PastTurn]:
    """The turns that the text tells of; lines of another form are passed over."""
    return [turn for line in text.splitlines() if (turn := _read_line(line)) is not None]


def _read_line(line: str) -> PastTurn | None:
    try:
        name, began, fate, ended = line.split(" ")
        return PastTurn(name, parse_time(began), TurnResult(fate), parse_time(ended))
    except ValueError:
        return None
