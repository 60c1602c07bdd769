"""Nodes that go down, as lines for people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from vacate.api.nodeconditions import shutdown_condition
from vacate.api.objects import Obj, name_of
from vacate.api.times import parse_time
from vacate.views.phrases import ago


def shutdown_lines(nodes: Iterable[Obj], now: dt.datetime) -> list[str]:
    """A line for each node that ends its pods in order to shut down, by name."""
    found = [(name_of(one), shutdown_condition(one)) for one in nodes]
    return [
        f"node/{name} is shutting down: its pods end by priority{_since(condition, now)}"
        for name, condition in sorted(found, key=lambda one: one[0])
        if condition is not None
    ]


def _since(condition: Obj, now: dt.datetime) -> str:
    try:
        return f" (it began {ago(parse_time(str(condition.get('lastTransitionTime'))), now)})"
    except ValueError:
        return ""
