"""Numbers as the Go server reads and reckons with them: 64 bits, and errors in the words of its parser."""

from __future__ import annotations

import datetime as dt
import re

from vacate.api.integers import MIN_INT64, fits

_INT = re.compile("[+-]?[0-9]+")
_LONGEST_SHOWN = 64
_LONGEST_INT64 = 19


def parse_int64(text: str) -> int:
    """A decimal number; ValueError with the parser's message otherwise."""
    if not _INT.fullmatch(text):
        raise ValueError(f'strconv.ParseInt: parsing "{text[:_LONGEST_SHOWN]}": invalid syntax')
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = int(digits) if len(digits) <= _LONGEST_INT64 else 0
    value = -value if text.startswith("-") else value
    if len(digits) > _LONGEST_INT64 or not is_int64(value):
        raise ValueError(f'strconv.ParseInt: parsing "{text[:_LONGEST_SHOWN]}": value out of range')
    return value


def is_int64(value: int) -> bool:
    """Whether the number fits into 64 bits with a sign."""
    return fits(value, "int64")


def duration_of(seconds: int) -> dt.timedelta:
    """So many seconds as a duration, which is a number of nanoseconds and wraps around after 292 years."""
    nanoseconds = (seconds * 10**9 - MIN_INT64) % 2**64 + MIN_INT64
    return dt.timedelta(microseconds=nanoseconds // 1000)
