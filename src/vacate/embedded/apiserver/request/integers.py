"""Integers of requests: 64 bits, and durations that stay within what a time can be reckoned with."""

from __future__ import annotations

import datetime as dt

from vacate.api.integers import MAX_INT64, parse_integer, span

MAX_SECONDS = MAX_INT64 // 10**9
"""About 292 years, the longest duration of Kubernetes, which counts nanoseconds in 64 bits."""

_MAX_SHOWN = 64


def parse_int64(text: str) -> int:
    """A decimal number; ValueError with the reason otherwise."""
    value = parse_integer(text)
    if value is None:
        raise ValueError(f'expected a 64-bit integer, got "{text[:_MAX_SHOWN]}"')
    return value


def duration_of(seconds: int) -> dt.timedelta:
    """So many seconds, at most 292 years; kube-apiserver lets longer ones wrap around, even into the past."""
    return span(seconds, -MAX_SECONDS, MAX_SECONDS)
