"""Which nodes shut down, as reported by a kubelet, a `vacate node`, or the shutdown agent."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest

from vacate.api.objects import Obj
from vacate.api.types import Node
from vacate.views.noderows import node_rows
from vacate.views.nodeshutdowns import shutdown_lines

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 1, 1, 12, 0, tzinfo=dt.UTC)


def node(name: str, type_: str, status: str, message: str = "") -> Obj:
    condition = {"type": type_, "status": status, "lastTransitionTime": "2026-01-01T11:58:00Z"}
    return {"metadata": {"name": name}, "status": {"conditions": [{**condition, "message": message}]}}


def test_nodes_that_go_down_are_named() -> None:
    nodes = [
        node("c", "Ready", "False", "node is shutting down"),
        node("b", "GracefulNodeShutdownInProgress", "True"),
        node("a", "GracefulNodeShutdownInProgress", "False"),
        node("d", "Ready", "False", "container runtime is down"),
        node("e", "Ready", "True", "node is shutting down"),
        {"metadata": {"name": "f"}, "status": {"conditions": ["hostile", {"type": 5}]}},
    ]
    assert shutdown_lines(nodes, NOW) == [
        "node/b is shutting down: its pods terminate by priority (it began 2m ago)",
        "node/c is shutting down: its pods terminate by priority (it began 2m ago)",
    ]


def test_a_time_that_is_none_hides_no_node() -> None:
    odd = node("a", "GracefulNodeShutdownInProgress", "True")
    odd["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    assert shutdown_lines([odd], NOW) == ["node/a is shutting down: its pods terminate by priority"]


def test_a_machine_that_is_off_does_not_shut_down_any_more() -> None:
    off = node("a", "GracefulNodeShutdownInProgress", "True")
    off["status"]["conditions"] += node("a", "Ready", "Unknown")["status"]["conditions"]
    (line,) = shutdown_lines([off], NOW)
    assert line == (
        "node/a was shutting down and does not report any more: it is off, or cut off (it began 2m ago)"
    )


def test_the_list_of_nodes_says_which_go_down_and_why_others_are_not_ready() -> None:
    beside = node("beside", "GracefulNodeShutdownInProgress", "True")
    off = node("off", "GracefulNodeShutdownInProgress", "True")
    for one, status in ((beside, "True"), (off, "Unknown")):
        one["status"]["conditions"] += node("", "Ready", status)["status"]["conditions"]
    nodes = [
        node("fine", "Ready", "True"),
        node("broken", "Ready", "False", "container runtime is down"),
        node("own", "Ready", "False", "node is shutting down"),
        beside,
        off,
    ]
    rows = node_rows([msgspec.convert(one, Node) for one in nodes], [], [], NOW)
    assert [(row.name, row.state, row.since, row.message) for row in rows] == [
        ("off", "NodeDown", "2m", "off, or cut off with its pods running"),
        ("beside", "ShuttingDown", "2m", "its pods terminate by priority"),
        ("own", "ShuttingDown", "2m", "its pods terminate by priority"),
        ("broken", "NotReady", "2m", "container runtime is down"),
        ("fine", "Ready", "2m", ""),
    ]


def test_the_list_of_nodes_says_which_are_cordoned_and_how_far_their_drain_is() -> None:
    states: dict[str, list[str]] = {
        "by-hand": [],
        "drained": ["Drained"],
        "draining": ["Draining"],
        "stuck": ["Draining", "Blocked"],
    }
    nodes = []
    for name, true in states.items():
        one = node(name, "Ready", "True")
        for type_ in ("Draining", "Drained", "Blocked"):
            status = "True" if type_ in true else "False"
            one["status"]["conditions"] += node("", type_, status)["status"]["conditions"]
        nodes.append(one | {"spec": {"unschedulable": True}})
    rows = node_rows([msgspec.convert(one, Node) for one in nodes], [], [], NOW)
    assert [(row.name, row.message) for row in rows] == [
        ("by-hand", "cordoned"),
        ("drained", "cordoned; drained"),
        ("draining", "cordoned; being drained"),
        ("stuck", "cordoned; its drain is blocked: see kubectl get nodemaintenances"),
    ]
