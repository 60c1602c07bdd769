"""What a scrape says about drains."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from vacate.api.types.nodemaintenance import NodeMaintenance, NodeMaintenanceStatus
from vacate.cache.reader import Reader
from vacate.cache.store import ObjectTable
from vacate.controllers.nodemaintenance.summarymetrics import MAX_NAMES, DrainTotals, observe_durations
from vacate.metrics import Metrics

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 11, 17, 2, 0, tzinfo=dt.UTC)
HELD = NOW - dt.timedelta(minutes=43)


def _drain(name: str, phase: str, *blockers: dict[str, Any], **meta: Any) -> NodeMaintenance:
    rows = [{"name": f"{name}-1", "phase": "Drained"}, {"name": f"{name}-2", "phase": phase}]
    status = {"phase": phase, "nodes": rows, "podsTotal": 9, "podsEvicted": 7, "blockers": blockers}
    return msgspec.convert(
        {"metadata": {"name": name, "uid": name, **meta}, "status": status}, NodeMaintenance
    )


def _budget(minutes: int, resolution: str) -> dict[str, Any]:
    since = (NOW - dt.timedelta(minutes=minutes)).isoformat()
    return {"kind": "DisruptionBudget", "node": "n", "since": since, "resolution": resolution}


def _series(*drains: NodeMaintenance) -> dict[str, dict[str, float]]:
    table: ObjectTable[NodeMaintenance] = ObjectTable({})
    table.replace(list(drains), "1")
    return {
        family.name: {"/".join(point.labels.values()): point.value for point in family.samples}
        for family in DrainTotals(Reader(table), lambda: NOW).collect()
    }


def test_what_is_left_and_since_when_a_person_is_needed() -> None:
    shown = _series(
        _drain("kernel", "Blocked", _budget(5, "Automatic"), _budget(43, "Manual")),
        _drain("firmware", "Draining", _budget(5, "Automatic")),
        _drain("last-week", "Drained"),
        _drain("cancelled", "Undoing", _budget(90, "Manual"), deletionTimestamp=NOW.isoformat()),
    )
    assert {phase: count for phase, count in shown["vacate_drains"].items() if count} == {
        "Blocked": 1, "Draining": 1, "Drained": 1, "Undoing": 1,
    }  # fmt: skip
    assert shown["vacate_drains"]["Pending"] == 0, "a phase without drains is 0, not absent"
    assert shown["vacate_drain_nodes"]["Drained"] == 5
    assert shown["vacate_drain_nodes_left"] == {"kernel": 1, "firmware": 1, "cancelled": 0}
    assert shown["vacate_drain_pods_left"] == {"kernel": 2, "firmware": 2, "cancelled": 2}
    assert shown["vacate_drain_blocked_since_seconds"] == {"kernel": HELD.timestamp()}
    assert shown["vacate_drain_blockers"] == {"DisruptionBudget/Automatic": 2, "DisruptionBudget/Manual": 2}


def test_many_drains_share_a_series_and_the_one_that_is_stuck_keeps_its_own() -> None:
    many = [_drain(f"d{number:03}", "Draining") for number in range(MAX_NAMES + 20)]
    shown = _series(*many, _drain("stuck", "Blocked", _budget(43, "Manual")))
    left = shown["vacate_drain_nodes_left"]
    assert len(left) == MAX_NAMES + 1
    assert (left["stuck"], left["other"]) == (1, 21)
    assert shown["vacate_drain_blocked_since_seconds"] == {"stuck": HELD.timestamp()}


def test_durations_are_counted_once() -> None:
    rows = [_took("n1", "01:00", "01:01"), _took("n2", "01:01", "01:05")]
    first = msgspec.convert({"phase": "Draining", "nodes": rows[:1]}, NodeMaintenanceStatus)
    last = msgspec.convert({"phase": "Drained", "nodes": rows}, NodeMaintenanceStatus)
    metrics = Metrics()
    for before, after in ((NodeMaintenanceStatus(), first), (first, last), (last, last)):
        observe_durations(metrics, before, after)
    assert _counted(metrics, "vacate_node_drain_duration_seconds") == (2, 300)
    assert _counted(metrics, "vacate_drain_duration_seconds") == (1, 300)


def _counted(metrics: Metrics, name: str) -> tuple[float | None, float | None]:
    value = metrics.registry.get_sample_value
    return value(f"{name}_count"), value(f"{name}_sum")


def _took(node: str, start: str, end: str) -> dict[str, str]:
    start, end = (f"2026-11-17T{one}:00Z" for one in (start, end))
    return {"name": node, "phase": "Drained", "startTime": start, "drainedTime": end}
