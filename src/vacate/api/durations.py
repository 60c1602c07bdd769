"""Spans of time as users of Kubernetes write them, and as kubectl shows them."""

from __future__ import annotations

import datetime as dt
import re

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

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([hms])")


_GO_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_GO_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_MAX_SECONDS = 2.0**63 * 1e-9


def seconds_of(text: str) -> float | None:
    """`90s`, `30m`, `1h30m`, or seconds as a number; None where the text is no span."""
    if _NUMBER.fullmatch(text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def go_duration(seconds: float) -> str:
    """`40s`, `5m0s`: whole seconds, below an hour, as messages of kubelets have them."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


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


def parse_duration(text: str) -> float:
    """Seconds of `1m30s` or `500ms`, as Go and kubelets write durations, or ValueError.

    A number without a unit is none, except 0.
    """
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    seconds, at = 0.0, 0
    while at < len(rest):
        part = _GO_PART.match(rest, at)
        if part is None:
            break
        seconds += float(part[1]) * _GO_UNITS[part[2]]
        at = part.end()
    if not rest or at < len(rest):
        raise ValueError(f"{text!r} is not a duration; write a number with a unit, such as 30s or 2m")
    if seconds >= _MAX_SECONDS:
        raise ValueError(f"{text!r} is longer than a duration can be")
    return sign * seconds


def format_duration(seconds: float) -> str:
    """The shortest way to write it: `1m30s`."""
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{rest:g}s" if rest else ""]
    return "".join(parts) or "0s"
