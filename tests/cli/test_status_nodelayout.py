"""The rows of `vacate status --nodes` on terminals of every width."""

from __future__ import annotations

import pytest

from vacate.cli.status.command import node_layout
from vacate.views.noderows import NodeRow

pytestmark = pytest.mark.unit

DOWN = "off, or cut off with its pods running; its pods stay until it reports, is fenced, or is gone for good"
LONG = "ip-10-0-128-17.eu-central-1.compute.internal"


def rows(name: str) -> list[NodeRow]:
    return [
        NodeRow(name, "NodeDown", "3m", "WaitingForApproval (rack-1)", 2, DOWN),
        NodeRow(f"{name}-2", "ShuttingDown", "10s", "-", 1, "its pods terminate by priority"),
        NodeRow(f"{name}-3", "NotReady", "-", "-", 0, "it has never reported"),
        NodeRow(f"{name}-4", "Ready", "2d", "-", 0, ""),
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("name", ["worker", LONG, "x" * 253])
def test_no_width_cuts_breaks_or_drops_a_name(width: int, name: str) -> None:
    lines = node_layout(rows(name), width)
    assert sum(name in line for line in lines) == 4
    assert all(len(line) <= width or name in line for line in lines), lines
    assert all(state in "\n".join(lines) for state in ("NodeDown", "ShuttingDown", "NotReady", "Ready"))


def test_a_usual_terminal_shows_a_line_for_each_node() -> None:
    assert node_layout(rows("worker"), 80) == [
        "NODE      STATE         SINCE  DETAIL",
        "worker    NodeDown      3m     fencing: WaitingForApproval (rack-1); 2 pods wai…",
        "worker-2  ShuttingDown  10s    1 pod waits; its pods terminate by priority",
        "worker-3  NotReady      -      it has never reported",
        "worker-4  Ready         2d",
    ]


def test_a_narrow_terminal_shows_a_block_for_each_node() -> None:
    assert node_layout(rows(LONG)[1:], 60) == [
        f"{LONG}-2",
        "  ShuttingDown for 10s",
        "  1 pod waits; its pods terminate by priority",
        f"{LONG}-3",
        "  NotReady",
        "  it has never reported",
        f"{LONG}-4",
        "  Ready for 2d",
    ]


def test_without_a_terminal_nothing_is_cut() -> None:
    header, first, *_ = node_layout(rows(LONG))
    assert header.split() == ["NODE", "STATE", "SINCE", "FENCING", "PODS", "WAITING", "MESSAGE"]
    assert first.endswith(f"2              {DOWN}")


@pytest.mark.parametrize("width", [0, 40, 200])
def test_no_cell_steers_the_terminal(width: int) -> None:
    hostile = "x\x1b[2J\n" + "word" * 30
    lines = node_layout([NodeRow(hostile, hostile, hostile, hostile, 1, hostile)], width)
    assert all(line.isprintable() for line in lines), lines
