"""Which nodes go down, read from whoever says it: a kubelet, a `vacate node`, or the shutdown agent."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.objects import Obj
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
        "node/b is shutting down: its pods end by priority (it began 2m ago)",
        "node/c is shutting down: its pods end by priority (it began 2m ago)",
    ]


def test_a_time_that_is_none_hides_no_node() -> None:
    odd = node("a", "GracefulNodeShutdownInProgress", "True")
    odd["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    assert shutdown_lines([odd], NOW) == ["node/a is shutting down: its pods end by priority"]
