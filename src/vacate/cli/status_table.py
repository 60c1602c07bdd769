"""Rows of requests as a table on a terminal: only what may be long is broken where there is no room."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from vacate.cli.common.terminal import safe
from vacate.cli.status_rows import HEADER, WIDE_HEADER, Row

_STYLES = {"Blocked": "yellow", "Complete": "green", "Cancelled": "dim", "Terminating": "cyan"}
_MAY_BE_LONG = ("NAMESPACE", "POD", "ACTIVE", "BLOCKED BY")


def live_table(rows: Sequence[Row], *, wide: bool = False, title: str = "") -> Table:
    """The table; `wide` with namespaces."""
    table = Table(box=None, pad_edge=False, title=title or None, title_justify="left")
    for column in WIDE_HEADER if wide else HEADER:
        table.add_column(column, overflow="fold", no_wrap=column not in _MAY_BE_LONG)
    for row in rows:
        cells = [Text(safe(cell)) for cell in row.cells(namespace=wide)]
        table.add_row(*cells, style=_STYLES.get(row.stage, ""))
    return table
