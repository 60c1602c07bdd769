"""Metrics of drains: how many there are, what is left of each, and since when one needs a person.

They name NodeMaintenances, as the requesters of open requests do, and neither pods nor nodes. Names are of
users' choosing: only those that wait longest, then the largest, have series of their own.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client.metrics_core import Metric

from vacate.api.types.nodemaintenance import (
    AUTOMATIC,
    DRAINED,
    MANUAL,
    NODE_PHASES,
    PENDING,
    PHASES,
    NodeMaintenance,
    NodeMaintenanceStatus,
)
from vacate.cache.reader import Reader
from vacate.metrics import LazyFamily, Metrics, Point
from vacate.views.causes import draining_nodes, needs_person

MAX_NAMES = 50
OTHERS = "other"


class DrainTotals:
    """A collector over the NodeMaintenances of the cluster."""

    def __init__(self, maintenances: Reader[NodeMaintenance], now: Callable[[], dt.datetime]) -> None:
        self._maintenances = maintenances
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """All families, from one look at the cache."""
        found, now = self._maintenances.list(), self._now()
        going = [one for one in found if one.status.phase != DRAINED]
        rows = [row for one in found for row in one.status.nodes]
        phases = Counter(dict.fromkeys(PHASES, 0))
        phases.update(_known(one.status.phase or PENDING, PHASES) for one in found)
        nodes = Counter(dict.fromkeys(NODE_PHASES, 0))
        nodes.update(_known(row.phase, NODE_PHASES) for row in rows)
        yield _family("vacate_drains", "NodeMaintenances, by phase.", _by("phase", phases))
        yield _family("vacate_drain_nodes", "Nodes of NodeMaintenances, by phase.", _by("phase", nodes))
        since = {name: moment for one in going for name, moment in _blocked(one, now)}
        left = {one.metadata.name: len(draining_nodes(one)) for one in going}
        shown = sorted(left, key=lambda name: (since.get(name, now), -left[name], name))[:MAX_NAMES]
        pods = {one.metadata.name: one.status.pods_total - one.status.pods_evicted for one in going}
        yield _family("vacate_drain_nodes_left", "Nodes that are not drained yet.", _by_name(left, shown))
        yield _family(
            "vacate_drain_pods_left",
            "Pods that are not evicted yet, of nodes whose turn has come.",
            _by_name(pods, shown),
        )
        yield _family("vacate_drain_blockers", "Blockers, by kind and resolution.", _blockers(going, now))
        oldest: dict[str, float] = {}
        for name, moment in since.items():
            key = name if name in shown else OTHERS
            oldest[key] = min(moment.timestamp(), oldest.get(key, moment.timestamp()))
        yield _family(
            "vacate_drain_blocked_since_seconds",
            "Since when the oldest blocker that needs a person stands, in seconds since 1970.",
            _by("maintenance", oldest),
        )


def observe_durations(metrics: Metrics, before: NodeMaintenanceStatus, after: NodeMaintenanceStatus) -> None:
    """Count how long nodes, and the whole, took that the new status reports as drained for the first time."""
    done = {row.name for row in before.nodes if row.phase == DRAINED}
    for row in after.nodes:
        fresh = row.phase == DRAINED and row.name not in done
        if fresh and row.start_time is not None and row.drained_time is not None:
            metrics.node_drain_seconds.observe((row.drained_time - row.start_time).total_seconds())
    starts = [row.start_time for row in after.nodes if row.start_time is not None]
    ends = [row.drained_time for row in after.nodes if row.drained_time is not None]
    if after.phase == DRAINED and before.phase != DRAINED and starts and ends:
        metrics.drain_seconds.observe((max(ends) - min(starts)).total_seconds())


def _known(value: str, values: Sequence[str]) -> str:
    return value if value in values else OTHERS


def _blocked(one: NodeMaintenance, now: dt.datetime) -> Iterator[tuple[str, dt.datetime]]:
    """The maintenance and the time, where it needs a person."""
    if one.metadata.deletion_timestamp is None:
        times = [row.since for row in one.status.blockers if needs_person(row, now) and row.since is not None]
        if times:
            yield one.metadata.name, min(times)


def _blockers(going: Sequence[NodeMaintenance], now: dt.datetime) -> list[Point]:
    counts = Counter(
        (row.kind, MANUAL if needs_person(row, now) else AUTOMATIC)
        for one in going
        for row in one.status.blockers
    )
    kinds = {kind for (kind, _), _ in counts.most_common(MAX_NAMES)}
    shown: Counter[tuple[str, str]] = Counter()
    for (kind, resolution), count in counts.items():
        shown[kind if kind in kinds else OTHERS, resolution] += count
    return [
        ((("kind", kind), ("resolution", resolution)), float(count))
        for (kind, resolution), count in sorted(shown.items())
    ]


def _by_name(values: Mapping[str, int], shown: Sequence[str]) -> list[Point]:
    own = {name: values[name] for name in shown}
    rest = sum(value for name, value in values.items() if name not in own)
    return _by("maintenance", {**own, OTHERS: rest} if len(values) > len(own) else own)


def _by(label: str, values: Mapping[str, float]) -> list[Point]:
    return [(((label, name),), float(value)) for name, value in values.items()]


def _family(name: str, text: str, points: Sequence[Point]) -> LazyFamily:
    return LazyFamily(name, text, "gauge", lambda: iter(points))
