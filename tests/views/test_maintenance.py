"""How far a drain is: in one line, and on a screen."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.types.nodemaintenance import Blocker, NodeMaintenance, NodeMaintenanceStatus, NodeProgress
from vacate.views.maintenance import overview, progress_line

pytestmark = pytest.mark.unit

BEGUN = dt.datetime(2026, 11, 17, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("begun", "evicted", "total", "estimate"),
    [
        pytest.param(None, 0, 0, "the pods are counted when a node's turn comes", id="not counted yet"),
        pytest.param(BEGUN, 0, 0, "there is no pod to evict", id="an empty node"),
        pytest.param(BEGUN, 0, 2, "0 of 2 pods evicted so far", id="none yet"),
        pytest.param(BEGUN, 1, 1, "1 of 1 pod evicted so far", id="all"),
    ],
)
def test_how_far_it_is(begun: dt.datetime | None, evicted: int, total: int, estimate: str) -> None:
    rows = [NodeProgress(name="n1", start_time=begun)]
    status = NodeMaintenanceStatus(
        phase="Pending", message="0 of 1 node drained", pods_total=total, pods_evicted=evicted, nodes=rows
    )
    assert progress_line(NodeMaintenance(status=status)) == f"Pending, 0 of 1 node drained; {estimate}"


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("nodes", [1, 100])
def test_a_large_drain_fits_a_small_screen_and_says_what_it_leaves_out(width: int, nodes: int) -> None:
    rows = [
        NodeProgress(
            name=f"node-{number}.rack-7.example.com", phase="Blocked", start_time=BEGUN, pods_total=9
        )
        for number in range(nodes)
    ]
    held = [
        Blocker(
            node="node-0.rack-7.example.com",
            namespace="shop",
            pod=f"web-{number}",
            message="Disruption budget web needs 2 healthy pods, has 2, and allows 0 disruptions now.",
            remedy="wait until more pods of disruption budget web are healthy, or add replicas",
        )
        for number in range(50)
    ]
    status = NodeMaintenanceStatus(phase="Blocked", nodes=rows, blockers=held, blockers_total=60)
    lines = overview(NodeMaintenance(status=status), BEGUN, width, 24)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= width
    named = [line for line in lines if line.startswith("  ! pod shop/web-")]
    assert named
    assert lines[-1] == f"  … and {60 - len(named)} more blockers"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_long_name_hides_neither_the_count_nor_the_end(width: int) -> None:
    rows = [
        NodeProgress(
            name=f"ip-10-0-12-{number}.eu-central-1.compute.internal",
            phase=phase,
            percent=40,
            pods_total=12,
            pods_evicted=5,
            start_time=BEGUN,
            estimated_finish_time=finish,
        )
        for number, phase, finish in (
            (31, "Draining", BEGUN + dt.timedelta(minutes=3)),
            (32, "Blocked", None),
        )
    ]
    first, second = overview(NodeMaintenance(status=NodeMaintenanceStatus(nodes=rows)), BEGUN, width)
    assert max(len(first), len(second)) <= width
    assert first.startswith("ip-10-0")
    assert " 40%  Draining  5/12 pods" in first
    assert first.endswith(", about 3m left") is (width > 40)
    assert second.endswith("40%  Blocked   5/12 pods")
    assert first.index("40%") == second.index("40%")
