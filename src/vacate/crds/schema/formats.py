"""What `format` and `pattern` of a schema take, as kube-apiserver reads them.

Its `date-time` takes more than is a time: an offset of 99:99, the years 0 and 9999. That is why times have a
pattern beside their format.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import cache

_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2}-[0-9]{2})")
_LEAP_YEAR, _COMMON_YEAR = 2000, 2001
_DOLLAR = re.compile(r"(\\.|\[(?:\\.|[^\\\]])*\])|\$")  # and what only looks like one: escaped, or in a class


@cache
def matcher(pattern: str) -> re.Pattern[str]:
    """The pattern as Go reads it: a dollar stands at the very end, not before a last line break."""
    return re.compile(_DOLLAR.sub(lambda found: found[1] or r"\Z", pattern))


def matches(pattern: str, text: str) -> bool:
    """Whether the text matches."""
    return matcher(pattern).search(text) is not None


def is_date_time(text: str) -> bool:
    """Whether the format `date-time` takes the text."""
    date, *rest = text.lower().split("t")
    clock = _CLOCK.fullmatch(rest[0]) if rest else None
    if clock is None or not _is_date(date):
        return False
    hour, minute, second = clock.group(1, 2, 3)
    return hour <= "23" and minute <= "59" and second <= "59"


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year = int(found[1])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    try:
        dt.date.fromisoformat(f"{_LEAP_YEAR if leap else _COMMON_YEAR}-{found[2]}")
    except ValueError:
        return False
    return True
