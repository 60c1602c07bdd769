"""Times as decoding reads them: RFC 3339, whole seconds for `time` and six digits for `microtime`."""

from __future__ import annotations

import datetime as dt
import re

from vacate.api import times

_FRACTION = ".000000"
_LAYOUT = ("2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05")
_ZONE = "Z07:00"
_ELEMENTS = {
    "2006": re.compile("[0-9]{4}"),
    "15": re.compile("[0-9]{1,2}"),
    _FRACTION: re.compile("[.,][0-9]{6}"),
    _ZONE: re.compile("Z|[+-][0-9]{2}:[0-9]{2}"),
}
_CANONICAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{6})?Z")
_TWO_DIGITS = re.compile("[0-9]{2}")
_ANY_FRACTION = re.compile("[.,][0-9]+")


def canonical(text: str, *, micro: bool) -> str:
    """The time as the server writes it, in UTC; ValueError in Go's words where it is none."""
    if _is_canonical(text, micro=micro):
        return text
    body = (*_LAYOUT, _FRACTION) if micro else _LAYOUT
    layout = (*body, _ZONE)
    rest = text
    for element in layout:
        if element == _ZONE and not micro and (fraction := _ANY_FRACTION.match(rest)):
            rest = rest[fraction.end() :]
        taken = _taken(element, rest)
        if not taken:
            pattern = "".join(layout)
            raise ValueError(
                f"parsing time {_quoted(text)} as {_quoted(pattern)}: "
                f"cannot parse {_quoted(rest)} as {_quoted(element)}"
            )
        rest = rest[taken:]
    if rest:
        raise ValueError(f"parsing time {_quoted(text)}: extra text: {_quoted(rest)}")
    return _format(text, micro=micro)


def is_zero(canonical_text: str) -> bool:
    """Whether this is the time that stands for none."""
    return canonical_text.startswith("0001-01-01T00:00:00")


def _is_canonical(text: str, *, micro: bool) -> bool:
    if len(text) != (27 if micro else 20) or not _CANONICAL.fullmatch(text):
        return False
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _taken(element: str, rest: str) -> int:
    if not element[-1].isdigit() and element != _ZONE:
        return int(rest.startswith(element))
    found = _ELEMENTS.get(element, _TWO_DIGITS).match(rest)
    return found.end() if found else 0


def _format(text: str, *, micro: bool) -> str:
    try:
        moment = dt.datetime.fromisoformat(text.replace(",", ".")).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"parsing time {_quoted(text)}: {_out_of_range(text)} out of range") from None
    return times.format_micro_time(moment) if micro else times.format_time(moment)


def _out_of_range(text: str) -> str:
    numbers = [int(number) for number in re.findall("[0-9]+", text)[1:6]]
    limits = (("month", 1, 12), ("day", 1, 28), ("hour", 0, 23), ("minute", 0, 59), ("second", 0, 59))
    outside = (
        name for number, (name, low, high) in zip(numbers, limits, strict=False) if not low <= number <= high
    )
    return next(outside, "year")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
