"""How far a node is, and when it is likely to be drained."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from msgspec.structs import replace

from vacate.api.times import after
from vacate.api.types.nodemaintenance import DRAINED, MAX_FORCED, NOT_FOUND, REPLACED, NodeProgress

MIN_ESTIMATE_CHANGE = 0.1
"""Estimates that moved by less than this part of the time left are not worth a write."""


MAX_PODS = 1_000_000
"""More pods than any node has had: the sum over all nodes of a maintenance is still a number of 32 bits."""


def is_done(row: NodeProgress) -> bool:
    """Whether nothing is left to do for a node: also when the node that was meant is gone."""
    return row.phase == DRAINED or (row.phase in (NOT_FOUND, REPLACED) and bool(row.uid))


def plausible(row: NodeProgress, created: dt.datetime | None, now: dt.datetime) -> NodeProgress:
    """The row as a controller can have written it.

    Another client may have: a count that is too large to go on from, or a start that lies in the future or
    before the maintenance, would stop it, or have its deadline pass at once.
    """
    start = row.start_time
    if start is not None:
        start = min(start if created is None else max(start, created), now).replace(microsecond=0)
    return replace(
        row,
        pods_total=_within(row.pods_total, MAX_PODS),
        pods_evicted=_within(row.pods_evicted, MAX_PODS),
        pods_forced=_within(row.pods_forced, MAX_PODS),
        forced_pods=row.forced_pods[:MAX_FORCED],
        percent=_within(row.percent, 100),
        start_time=start,
    )


def _within(count: int, most: int) -> int:
    return count if 0 <= count <= most else 0


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
        moments.append(after(now, (now - started).total_seconds() / gone * remaining))
    return max(moments).replace(microsecond=0) if moments else None


def steady(old: dt.datetime | None, new: dt.datetime | None, now: dt.datetime) -> dt.datetime | None:
    """The old estimate where the new one says nearly the same: a status is not written for seconds."""
    if old is None or new is None or old <= now:
        return new
    tolerance = max((old - now) * MIN_ESTIMATE_CHANGE, dt.timedelta(seconds=5))
    return old if abs(new - old) <= tolerance else new
