"""Nodes that go down, as lines for people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from vacate.api.nodeconditions import ready_status, shutdown_condition
from vacate.api.objects import Obj, name_of
from vacate.api.times import parse_time
from vacate.views.phrases import ago


def shutdown_lines(nodes: Iterable[Obj], now: dt.datetime) -> list[str]:
    """A line for each node that terminates its pods in order to shut down, by name."""
    return [
        f"node/{name_of(node)} {_course(node)}{_since(condition, now)}"
        for node in sorted(nodes, key=name_of)
        if (condition := shutdown_condition(node)) is not None
    ]


def _course(node: Obj) -> str:
    """The agent beside a kubelet is off with the machine: its last report stays until it is back."""
    if ready_status(node) == "Unknown":
        return "was shutting down and does not report any more: it is off, or cut off"
    return "is shutting down: its pods terminate by priority"


def _since(condition: Obj, now: dt.datetime) -> str:
    try:
        return f" (it began {ago(parse_time(str(condition.get('lastTransitionTime'))), now)})"
    except ValueError:
        return ""
