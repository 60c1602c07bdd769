"""Rows of requests as lines: all columns where there is room, and never without a pod's whole name. Pure.

A terminal that is too narrow for all columns gets four of them. One of fewer columns than usual gets a block
for each pod, unless the four fit whole: cut, the last would lose heartbeat and requesters.
In none of them is a pod's or a namespace's name cut, broken or left out: it is what one needs to go on.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from vacate.cli.common.output import aligned
from vacate.cli.common.text import columns_of, cut, padded, safe
from vacate.views.phrases import NOTHING
from vacate.views.statusrows import NAMESPACE, Row, header_of

_GAP = "  "
_MIN_DETAIL = 24
_USUAL_WIDTH = 80
_INDENT = "  "
_UNBOUNDED = 1 << 20
_Phrase = Callable[[str], str]


def layout(
    rows: Sequence[Row], *, namespace: bool, width: int = 0, wide: bool = False, phrase: _Phrase = str
) -> list[str]:
    """The lines below a header. Without a width nothing is cut, however long it is.

    `phrase` gives titles and phrases the words of the API whose requests these are.
    """
    header = titles(header_of(namespace=namespace, wide=wide), phrase)
    if not width or wide:
        return aligned([header, *_cells(rows, namespace, wide=wide)])
    return (
        fitted([header, *_cells(rows, namespace)], width)  # where the message has room
        or _compact(rows, width, namespace, phrase)
        or _blocks(rows, width, namespace, phrase)
    )


def titles(header: Sequence[str], phrase: _Phrase) -> tuple[str, ...]:
    """The titles of columns in the words of an API."""
    return tuple(phrase(one.lower()).upper() for one in header)


def _cells(rows: Sequence[Row], namespace: bool, *, wide: bool = False) -> list[tuple[str, ...]]:
    return [row.cells(namespace=namespace, wide=wide) for row in rows]


def _compact(rows: Sequence[Row], width: int, namespace: bool, phrase: _Phrase) -> list[str]:
    """Which pod, how it stands, for how long, and the rest in a few words; whole on a narrow terminal."""
    names = (NAMESPACE,) if namespace else ()
    table = [(*names, "POD", "STAGE", "SINCE", "DETAIL")]
    for row in rows:
        own = (row.namespace,) if namespace else ()
        table.append((*own, row.pod, row.stage, row.since, detail(row, phrase)))
    return compact(table, width)


def compact(table: Sequence[Sequence[str]], width: int) -> list[str]:
    """The table fitted; nothing where its last column would be cut on a terminal narrower than usual."""
    lines = fitted(table, width)
    whole = lines == fitted(table, _UNBOUNDED)
    return lines if whole or width >= _USUAL_WIDTH else []


def fitted(table: Sequence[Sequence[str]], width: int) -> list[str]:
    """The table with its last column cut to the width; nothing where that would be too short."""
    cells = [[*map(safe, row)] for row in table]
    first = [max(map(columns_of, column)) for column in zip(*(row[:-1] for row in cells), strict=True)]
    left = width - sum(first) - len(_GAP) * len(first)
    if left < min(_MIN_DETAIL, max(columns_of(row[-1]) for row in cells)):
        return []
    return [
        _GAP.join(
            [*(padded(cell, size) for cell, size in zip(row[:-1], first, strict=True)), cut(row[-1], left)]
        ).rstrip()
        for row in cells
    ]


def _blocks(rows: Sequence[Row], width: int, namespace: bool, phrase: _Phrase) -> list[str]:
    """Each pod on a line of its own, and what there is to say about it below."""
    lines: list[str] = []
    for row in rows:
        lines.append(safe(f"{row.namespace}/{row.pod}" if namespace else row.pod))
        lines += wrapped(f"{row.stage} for {row.since}" if row.since != NOTHING else row.stage, width)
        text = detail(row, phrase)
        lines += wrapped(safe(text), width) if text else []
    return lines


def wrapped(text: str, width: int) -> list[str]:
    """The text as lines below a name."""
    return textwrap.wrap(
        text,
        max(width, 20),
        initial_indent=_INDENT,
        subsequent_indent=_INDENT * 2,
        break_on_hyphens=False,
    )


def detail(row: Row, phrase: _Phrase = str) -> str:
    """What the columns beside pod, stage and time say, as one phrase; empty where there is nothing to say."""
    reported = "no heartbeat yet" if row.heartbeat == "none yet" else f"heartbeat {row.heartbeat}"
    parts = [
        row.active if row.active != NOTHING else "",
        f"blocked by {row.blocked_by}" if row.blocked_by != NOTHING else "",
        f"ETA {row.eta}" if row.eta != NOTHING else "",
        row.message if row.message != NOTHING else "",
        phrase(reported) if row.heartbeat != NOTHING else "",
        f"requested by {row.requesters}" if row.requesters != NOTHING else "",
    ]
    return "; ".join(part.rstrip(".") for part in parts if part)
