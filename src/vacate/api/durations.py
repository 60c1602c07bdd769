"""Spans of time as kubectl users know them: two or three significant figures."""

from __future__ import annotations

import datetime as dt

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
# Up to so many seconds: the larger unit and its sign, the smaller one and its sign where it is shown too.
_SCALES = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (48 * _HOUR, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def human_duration(span: dt.timedelta) -> str:
    """`5s`, `3m20s`, `8h`, `2d4h`, `3y20d`."""
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    for limit, unit, sign, smaller, smaller_sign in _SCALES:
        if seconds < limit:
            rest = seconds % unit // smaller if smaller else 0
            return f"{seconds // unit}{sign}{rest}{smaller_sign}" if rest else f"{seconds // unit}{sign}"
    return f"{seconds // _YEAR}y"
