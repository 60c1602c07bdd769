"""How far a node is, and when it is likely to be drained."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from vacate.api.types.nodemaintenance import NodeProgress

NOTICEABLE = 0.1
"""Estimates that moved by less than this part of the time left are not worth a write."""


def counted(before: NodeProgress, remaining: int) -> tuple[int, int]:
    """Pods in all and pods gone. Counts never fall, also when pods appear that were not there before."""
    total = max(before.pods_total, before.pods_evicted + remaining)
    return total, max(before.pods_evicted, total - remaining)


def percent_of(done: int, total: int) -> int:
    """How much is done; nothing to do is all done."""
    return 100 if total <= 0 else min(100 * done // total, 100)


def estimate(
    now: dt.datetime,
    started: dt.datetime | None,
    gone: int,
    remaining: int,
    interceptors: Iterable[dt.datetime],
) -> dt.datetime | None:
    """When the rest will be gone: not before any interceptor expects to be done, nor faster than so far."""
    if not remaining:
        return None
    moments = [moment for moment in interceptors if moment > now]
    if gone and started is not None:
        moments.append(now + (now - started) / gone * remaining)
    return max(moments).replace(microsecond=0) if moments else None


def steady(before: dt.datetime | None, after: dt.datetime | None, now: dt.datetime) -> dt.datetime | None:
    """The old estimate where the new one says nearly the same: a status is not written for seconds."""
    if before is None or after is None or before <= now:
        return after
    tolerance = max((before - now) * NOTICEABLE, dt.timedelta(seconds=5))
    return before if abs(after - before) <= tolerance else after
