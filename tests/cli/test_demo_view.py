"""The demo fits a terminal of 80 columns and 24 lines, with a legend and what to try next."""

from __future__ import annotations

import msgspec
import pytest

from vacate.api.types import Pod
from vacate.api.types.nodemaintenance import (
    BLOCKED,
    NodeMaintenance,
    NodeMaintenanceStatus,
    NodeProgress,
)
from vacate.cli.demo.command import Summary, report
from vacate.cli.demo.timeline import PodTimeline, Timeline
from vacate.cli.demo.view import LEGEND, View, drawn, whole
from vacate.testing.builders import pod
from views.explanation_inputs import EXPLANATION_INPUTS

pytestmark = pytest.mark.unit

NODES = ("node-1", "node-2", "node-3")
LONGEST = "checkpoint.example.com"


def pods() -> list[Pod]:
    """Twelve pods after the drain: six on each of the two nodes that are left."""
    names = [f"web-6b44c9c94f-{letter}xxxx" for letter in "abcdefghijkl"]
    return [
        msgspec.convert(pod(name, node=NODES[1 + number % 2], ready=True), Pod)
        for number, name in enumerate(names)
    ]


def test_the_live_screen() -> None:
    requests = [
        EXPLANATION_INPUTS[name]()
        for name in ("responding", "handed over after silence", "blocked", "blocked often")
    ]
    budget = EXPLANATION_INPUTS["blocked"]().typed_budgets[0]
    row = NodeProgress(name="node-1", phase=BLOCKED, pods_total=4, percent=25, start_time=requests[0].now)
    status = NodeMaintenanceStatus(nodes=[row])
    maintenance = NodeMaintenance(status=status)
    view = View(pods(), [sim.typed for sim in requests], budget, requests[0].now, maintenance)
    lines = drawn(view, NODES, ["x" * 200] * 4, 80)
    assert lines[0].startswith("Drain of node-1  █████░░░░░░░░░░░░░░░  25%  Blocked")
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    assert f"  {LEGEND}" in lines
    assert "  node-1 (cordoned)         node-2                    node-3" in lines
    assert any("● web-axxxx" in line for line in lines)
    assert sum("  web-1  " in line for line in lines) == 4


def test_what_stays_is_broken_between_words() -> None:
    line = (
        "Deploying web (5 of 6 must stay available), cart (prepared by checkpoint.example.com), db (by more)"
    )
    assert whole([line, "short"], 80) == [
        "Deploying web (5 of 6 must stay available), cart (prepared by",
        "  checkpoint.example.com), db (by more)",
        "short",
    ]


def test_the_end() -> None:
    timeline = Timeline(lambda _line: None)
    for name in (
        "cart-5c5446c696-8j4zx",
        "db-745fcb67d5-s6s4r",
        "web-6b44c9c94f-52qb5",
        "web-6b44c9c94f-g7wsk",
    ):
        pod_timeline = timeline.pods[name] = PodTimeline(name)
        pod_timeline.turn(LONGEST, 0.2)
        pod_timeline.turn("terminating", 3.2)
        pod_timeline.end(12.4)
    lines = report(Summary(6, 5, 5, 12.5), "node-1", timeline, 80)
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80, lines
    assert "▒▓ interceptor   · waiting   █ terminating" in lines[0]
    assert lines[-6] == "Try next"
    assert "  node-1 was drained of 4 pods in 12.5 s" in lines
