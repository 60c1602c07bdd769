"""The order of a shutdown as lines: a table where there is room, else a block for each bucket. Pure."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence

from vacate.cli.common.output import aligned
from vacate.cli.common.text import columns_of, safe
from vacate.nodeagent.shutdown.preview import PodPreview, Preview

_HEADER = ("BUCKET", "PERIOD", "LATEST START", "POD", "PRIORITY", "GRACE", "INTERCEPTORS", "ALLOTTED")
_NARROWEST = 20
_INDENT = "  "


def order_lines(order: Preview, width: int = 0) -> list[str]:
    """All of it. Without a width it is a table, however wide; a pod's name is never cut or broken."""
    if not order.rows:
        return [order.headline]
    table = aligned([_HEADER, *map(_cells, order.rows)])
    if width and max(map(columns_of, table)) > width:
        return [order.headline, *_blocks(order.rows, width)]
    return [order.headline, *table]


def _cells(row: PodPreview) -> tuple[str, ...]:
    if not row.pod:
        return (row.bucket, row.period, "-", "none: skipped", "", "", "", "")
    shown = (row.pod, row.priority, row.grace, row.interceptors or "-", row.allotted)
    return (row.bucket, row.period, row.latest_start, *shown)


def _blocks(rows: Sequence[PodPreview], width: int) -> list[str]:
    """What the pods of a bucket have in common is printed once."""
    lines: list[str] = []
    for (bucket, period, start), pods in itertools.groupby(
        rows, key=lambda row: (row.bucket, row.period, row.latest_start)
    ):
        begins = f"starts at {start} at the latest" if start else "no pods, skipped"
        lines += _wrapped(f"bucket {bucket}: {period}, {begins}", width, 0)
        for one in pods if start else ():
            lines.append(_INDENT + safe(one.pod))
            prepare = f"interceptors {one.interceptors}, " if one.interceptors else ""
            words = f"priority {one.priority}, grace {one.grace}, {prepare}allotted {one.allotted}"
            lines += _wrapped(words, width, 2)
    return lines


def _wrapped(text: str, width: int, depth: int) -> list[str]:
    first, more = _INDENT * depth, _INDENT * (depth + 1)
    return textwrap.wrap(
        text,
        max(width, _NARROWEST),
        initial_indent=first,
        subsequent_indent=more,
        break_on_hyphens=False,
    )
