"""Rows of nodes as lines: all columns where they fit, and never without a node's whole name. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.cli.common.output import aligned
from vacate.cli.common.text import safe
from vacate.cli.status.layout import compact, fitted, wrapped
from vacate.views.noderows import HEADER, NodeRow
from vacate.views.phrases import NOTHING


def node_layout(rows: Sequence[NodeRow], width: int = 0) -> list[str]:
    """The lines below a header. Without a width nothing is cut, however long it is."""
    table = [HEADER, *map(_cells, rows)]
    if not width:
        return [line.rstrip() for line in aligned(table)]
    return fitted(table, width) or _compact(rows, width) or _blocks(rows, width)


def _cells(row: NodeRow) -> tuple[str, ...]:
    return (row.name, row.state, row.since, row.fencing, str(row.waiting or NOTHING), row.message)


def _compact(rows: Sequence[NodeRow], width: int) -> list[str]:
    """Which node, how it stands, for how long, and the rest in a few words."""
    own = [(row.name, row.state, row.since, _detail(row)) for row in rows]
    return compact([(*HEADER[:3], "DETAIL"), *own], width)


def _blocks(rows: Sequence[NodeRow], width: int) -> list[str]:
    """Each node on a line of its own, and what there is to say about it below."""
    lines: list[str] = []
    for row in rows:
        lines.append(safe(row.name))
        state = f"{row.state} for {row.since}" if row.since != NOTHING else row.state
        lines += wrapped(safe(state), width)
        lines += wrapped(safe(_detail(row)), width)
    return lines


def _detail(row: NodeRow) -> str:
    """What the columns beside node, state and time say, as one phrase, or nothing."""
    parts = [
        f"fencing: {row.fencing}" if row.fencing != NOTHING else "",
        f"{row.waiting} {'pod waits' if row.waiting == 1 else 'pods wait'}" if row.waiting else "",
        row.message,
    ]
    return "; ".join(part for part in parts if part)
