"""PURE. Durations as the kubelet's configuration writes them: `30s`, `1m30s`, `500ms`."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_MAX = 2.0**63 * 1e-9


def parse_duration(text: str) -> float:
    """Seconds, or ValueError. A number without a unit is none, except 0."""
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    seconds, at = 0.0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:
            break
        seconds += float(part[1]) * _UNITS[part[2]]
        at = part.end()
    if not rest or at < len(rest):
        raise ValueError(f"{text!r} is not a duration; write a number with a unit, such as 30s or 2m")
    if seconds >= _MAX:
        raise ValueError(f"{text!r} is longer than a duration can be")
    return sign * seconds


def format_duration(seconds: float) -> str:
    """The shortest way to write it: `1m30s`."""
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{rest:g}s" if rest else ""]
    return "".join(parts) or "0s"
