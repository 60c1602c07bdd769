"""Options of list, watch, deletion and logs, as values that clients send and servers read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from vacate.api.fielderrors import FieldError, forbidden, invalid, not_supported
from vacate.api.integers import MAX_INT64
from vacate.api.status import invalid_as
from vacate.api.times import parse_time
from vacate.errors import BadRequest

LOG_FLAGS = ("follow", "previous", "timestamps")
_BOTH_STREAMS = "All"

DRY_RUN_ALL = ("All",)
"""The only value that Kubernetes knows for `DeleteOptions.dry_run`: all stages run, nothing is written."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which objects of a collection to list, and how many at once. Empty fields ask for nothing special."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0  # how many objects a page has at most; 0 is all of them in one
    continue_token: str = ""  # from the page before
    resource_version: str = ""
    resource_version_match: str = ""  # "Exact" or "NotOlderThan"; needs a resource_version


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Which changes of a collection to watch, and from when on. Empty fields ask for nothing special."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""  # changes after this one; without it the present state comes first
    timeout_seconds: int = 0  # when the server ends the watch; 0 leaves that to the server
    send_initial_events: bool | None = (
        None  # whether the present state comes first, with a bookmark at its end
    )
    allow_bookmarks: bool = True  # whether the server may send bookmarks


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete, or to evict. None stands for a field that the client left out.

    `uid` and `resource_version` are the preconditions: the object must have them, or nothing is deleted. The
    client sends neither when they are empty; a server that receives an empty one finds that nothing matches.
    """

    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] = ()
    unsafe: bool | None = None
    reason: str = (
        ""  # why the pod is terminated; kept by servers with PodTerminationReason, dropped by others
    )

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing must be written."""
        return bool(self.dry_run)


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
        follow, previous, timestamps = (flag(query, key) for key in LOG_FLAGS)
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
