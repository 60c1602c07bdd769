"""How far a drain is: in one line, and on a screen."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pytest

from vacate.api.types.nodemaintenance import (
    Blocker,
    BlockerRemedy,
    NodeMaintenance,
    NodeMaintenanceStatus,
    NodeProgress,
)
from vacate.views.maintenance import held_lines, overview, progress_line

pytestmark = pytest.mark.unit

BEGUN = dt.datetime(2026, 11, 17, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("begun", "evicted", "total", "estimate"),
    [
        pytest.param(None, 0, 0, "the pods are counted when a node's turn comes", id="not counted yet"),
        pytest.param(BEGUN, 0, 0, "there is no pod to evict", id="an empty node"),
        pytest.param(BEGUN, 0, 2, "2 pods to evict", id="none yet"),
        pytest.param(BEGUN, 1, 2, "1 of 2 pods evicted so far", id="some"),
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
    assert any(line.startswith("  ! pod shop/web-0 and 49 more pods") for line in lines)  # one cause
    assert lines[-1] == "  … and 10 more blockers"  # of which the status names only the first


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
    total, first, second = overview(NodeMaintenance(status=NodeMaintenanceStatus(nodes=rows)), BEGUN, width)
    assert max(len(total), len(first), len(second)) <= width
    assert total.startswith("0 of 2 nodes drained, 1 blocked"[:width])
    assert first.startswith("ip-10-0")
    assert " 40%  Draining  5/12 pods" in first
    assert first.endswith(", about 3m left") is (width > 40)
    assert second.endswith("40%  Blocked   5/12 pods")
    assert first.index("40%") == second.index("40%")


def drain(phases: Sequence[str], *, pods: int = 4, held: Sequence[Blocker] = ()) -> NodeMaintenance:
    rows = [
        NodeProgress(
            name=f"node-{number}",
            phase=phase,
            start_time=None if phase == "Pending" else BEGUN,
            pods_total=pods,
            pods_evicted=pods if phase == "Drained" else 0,
            percent=100 if phase == "Drained" else 0,
            estimated_finish_time=BEGUN + dt.timedelta(minutes=3),
        )
        for number, phase in enumerate(phases)
    ]
    total = sum(row.pods_evicted for row in rows)
    status = NodeMaintenanceStatus(
        phase="Draining",
        nodes=rows,
        pods_total=pods * len(rows),
        pods_evicted=total,
        blockers=list(held),
        blockers_total=len(held),
        estimated_finish_time=BEGUN + dt.timedelta(minutes=3),
    )
    return NodeMaintenance(status=status)


def test_a_pool_has_a_total_and_its_finished_nodes_are_one_line() -> None:
    lines = overview(drain(["Drained"] * 30 + ["Draining"] * 2 + ["Pending"] * 8), BEGUN, 80, 24)
    assert len(lines) <= 24
    assert lines[0] == "30 of 40 nodes drained, 120 pods evicted, about 3m left"
    assert [line.split()[0] for line in lines[1:3]] == ["node-30", "node-31"]
    assert lines[-1].startswith("30 nodes drained: node-0, node-1, ")
    assert sum("Drained" in line for line in lines) == 0


@pytest.mark.parametrize(
    ("phases", "total"),
    [
        (["Pending", "Pending"], "2 nodes to drain, about 3m left"),
        (["Draining", "Pending"], "0 of 2 nodes drained, about 3m left"),
        (["Draining", "Draining"], "0 of 2 nodes drained, 0/8 pods evicted, about 3m left"),
        (["Drained", "Pending"], "1 of 2 nodes drained, 4 pods evicted, about 3m left"),
        (["Drained", "Draining"], "1 of 2 nodes drained, 4/8 pods evicted, about 3m left"),
    ],
)
def test_what_has_not_begun_is_not_counted(phases: list[str], total: str) -> None:
    """The pods of a node that waits for its turn are in no total: it would grow from turn to turn."""
    assert overview(drain(phases), BEGUN, 80, 24)[0] == total


@pytest.mark.parametrize(("phase", "moves"), [("Blocked", True), ("Draining", False)])
def test_nothing_is_estimated_while_nothing_can_happen(phase: str, moves: bool) -> None:
    assert "left" not in " ".join(overview(drain([phase, phase]), BEGUN, 80, 24, moves=moves))
    late = BEGUN + dt.timedelta(minutes=4)  # after the estimate
    assert "left" not in " ".join(overview(drain(["Draining", "Draining"]), late, 80, 24))


def test_what_holds_is_grouped_by_budget_and_what_ends_by_itself_comes_last() -> None:
    def held(pod: str, budget: str, resolution: str) -> Blocker:
        way = BlockerRemedy(text="start a replacement first", command=f"kubectl annotate deployment {budget}")
        return Blocker(
            node="node-0", namespace="shop", pod=pod, kind="DisruptionBudget", name=budget,
            message=f"budget {budget} holds it", remedy="x", remedies=[way], resolution=resolution,
        )  # fmt: skip

    some = [held("a-1", "a", "Automatic"), held("b-1", "b", "Manual"), held("b-2", "b", "Manual")]
    lines = held_lines(drain(["Blocked"], held=some), BEGUN, 80)
    assert lines == [
        "Needs a person:",
        "  ! pod shop/b-1 and 1 more pod: Budget b holds it",
        "    → start a replacement first:",
        "      kubectl annotate deployment b",
        "Ends by itself:",
        "  · pod shop/a-1: Budget a holds it",
        "    → start a replacement first:",
        "      kubectl annotate deployment a",
    ]


def test_a_screen_breaks_no_command() -> None:
    """Long ones are written elsewhere; what ends by itself has those that fit."""
    ways = [
        BlockerRemedy(text="end its turn", command="vacate skip db-0 backup.example.com -n shop"),
        BlockerRemedy(text="start a replacement first", command=f"kubectl annotate deployment {'w' * 80}"),
    ]
    for resolution, commands in (("Automatic", 1), ("Manual", 0)):
        held = Blocker(
            node="node-0", namespace="shop", pod="db-0", kind="Turn", name="backup.example.com",
            message="It has its turn.", remedies=ways, resolution=resolution,
        )  # fmt: skip
        lines = held_lines(drain(["Blocked"], held=[held]), BEGUN, 80, 24)
        assert max(map(len, lines)) <= 80
        assert sum(way.command == line.strip() for way in ways for line in lines) == commands
        assert "    → start a replacement first" in lines
