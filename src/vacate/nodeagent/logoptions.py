"""PURE. Which part of a log is wanted, as the options of `kubectl logs` say it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from vacate.api.fielderrors import FieldError, forbidden, invalid, not_supported
from vacate.api.integers import MAX_INT64
from vacate.api.status import invalid_as
from vacate.api.times import parse_time
from vacate.errors import BadRequest

FLAGS = ("follow", "previous", "timestamps")
_BOTH_STREAMS = "All"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What of a log is wanted."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    limit: int | None = None
    since: float | None = None  # seconds since 1970

    @classmethod
    def of(cls, query: Mapping[str, str], pod: str, now: dt.datetime) -> LogOptions:
        """As a request says it; BadRequest for what is no number or time, Invalid for other mistakes."""
        tail, limit, seconds = (_number(query, key) for key in ("tailLines", "limitBytes", "sinceSeconds"))
        since = _moment(query)
        found: list[FieldError] = []
        if tail is not None and tail < 0:
            found.append(invalid("tailLines", tail, "must be greater than or equal to 0"))
        if limit is not None and limit < 1:
            found.append(invalid("limitBytes", limit, "must be greater than 0"))
        if seconds is not None and since is not None:
            found.append(forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
        elif seconds is not None and seconds < 1:
            found.append(invalid("sinceSeconds", seconds, "must be greater than 0"))
        if (stream := query.get("stream", _BOTH_STREAMS)) != _BOTH_STREAMS:
            found.append(not_supported("stream", stream, [_BOTH_STREAMS]))  # both are in one file
        if found:
            raise invalid_as("", "PodLogOptions", pod, found)
        follow, previous, timestamps = (flag(query, key) for key in FLAGS)
        if seconds is not None:
            since = now.timestamp() - seconds
        return cls(follow, previous, timestamps, tail, limit, since)


def flag(query: Mapping[str, str], name: str) -> bool:
    """Whether a flag is set: as in Kubernetes by any value but `false` and `0`."""
    return name in query and query[name].lower() not in ("false", "0")


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    digits = text.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20) or int(digits) > MAX_INT64:
        raise BadRequest(f"{name}: {text[:80]!r} is not a number")
    return -int(digits) if text.startswith("-") else int(digits)


def _moment(query: Mapping[str, str]) -> float | None:
    text = query.get("sinceTime", "")
    if not text:
        return None
    try:
        return parse_time(text).timestamp()
    except (ValueError, OverflowError):
        raise BadRequest(
            f"sinceTime: {text[:80]!r} is not a time such as 2026-01-31T12:00:00Z (RFC 3339)"
        ) from None
