"""Times, durations and enumerations in the words of an explanation."""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Sequence

from vacate.api.durations import human_duration
from vacate.api.text import plain

NOT_INSTALLED = (
    "Vacate is not installed in this cluster: until it is, annotations of vacate.dev have no effect."
)

NOTHING = "-"
"""A cell of a table that has nothing to show."""

_SECOND = dt.timedelta(seconds=1)


def span(length: dt.timedelta) -> str:
    """`3m20s`; nothing is shorter than no time at all."""
    return human_duration(max(length, dt.timedelta()))


def ago(moment: dt.datetime, now: dt.datetime) -> str:
    """`5m ago`. What lies ahead by a clock that is fast is now."""
    return f"{span(now - moment)} ago" if now - moment >= _SECOND else "just now"


def ahead(moment: dt.datetime, now: dt.datetime) -> str:
    """`in 5m (at 10:05:00 UTC)`, with the day where it is another."""
    if moment - now < _SECOND:
        return "now"
    return f"in {span(moment - now)} (at {at(moment, now)})"


def at(moment: dt.datetime, now: dt.datetime) -> str:
    """`10:05:00 UTC`, with the day where it is another."""
    utc = moment.astimezone(dt.UTC)
    form = "%H:%M:%S" if utc.date() == now.astimezone(dt.UTC).date() else "%Y-%m-%d %H:%M:%S"
    return f"{utc.strftime(form)} UTC"


def command_line(program: str, *words: str) -> str:
    """A command that is there to be copied: names that others chose are quoted for the shell.

    Such a name may also begin with a dash; pass it as KIND/NAME, so that it cannot be taken for an option.
    """
    return f"{program} {shlex.join(words)}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 pod`, `3 pods`."""
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"


def clock(moment: dt.datetime) -> str:
    """A moment, so that the sentence does not change by itself."""
    return moment.astimezone(dt.UTC).strftime("%H:%M:%S UTC")


def advice(text: str) -> str:
    """What helps, as a sentence of its own."""
    return sentence(f"{text[:1].upper()}{text[1:]}")


def sentence(text: str) -> str:
    """The text with the full stop that ends a sentence."""
    text = plain(text)
    return text if not text or text.endswith((".", "!", "?", "…")) else f"{text}."
