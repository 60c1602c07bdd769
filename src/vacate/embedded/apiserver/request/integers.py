"""Numbers as the Go server reads and reckons with them: 64 bits, and errors in the words of its parser."""

from __future__ import annotations

import datetime as dt
import re

_INT = re.compile("[+-]?[0-9]+")
_LONGEST_SHOWN = 64
_LONGEST_INT64 = 19
_INT64 = 2**63


def parse_int64(text: str) -> int:
    """A decimal number; ValueError with the parser's message otherwise."""
    if not _INT.fullmatch(text):
        raise ValueError(f'strconv.ParseInt: parsing "{text[:_LONGEST_SHOWN]}": invalid syntax')
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = int(digits) if len(digits) <= _LONGEST_INT64 else _INT64
    value = -value if text.startswith("-") else value
    if len(digits) > _LONGEST_INT64 or not is_int64(value):
        raise ValueError(f'strconv.ParseInt: parsing "{text[:_LONGEST_SHOWN]}": value out of range')
    return value


def is_int64(value: int) -> bool:
    """Whether the number fits into 64 bits with a sign."""
    return -_INT64 <= value < _INT64


def duration_of(seconds: int) -> dt.timedelta:
    """So many seconds as a duration, which is a number of nanoseconds and wraps around after 292 years."""
    nanoseconds = (seconds * 10**9 + _INT64) % 2**64 - _INT64
    return dt.timedelta(microseconds=nanoseconds // 1000)
