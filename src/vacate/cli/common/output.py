"""What commands print: objects as JSON or YAML, and tables as kubectl shows them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
import orjson
import yaml

from vacate.api.objects import Obj
from vacate.cli.common import terminal
from vacate.cli.common.text import columns_of, folded, padded, safe
from vacate.views.phrases import NOTHING

F = TypeVar("F", bound=Callable[..., Any])

JSON, YAML, WIDE, NAME = "json", "yaml", "wide", "name"
_GAP, _INDENT = "   ", "  "


def output_option(*more: str) -> Callable[[F], F]:
    """Add -o with json, yaml and more; the command gets it as `output`, empty for the default form."""
    words = "Print objects instead of text"
    return click.option(
        "-o",
        "--output",
        type=click.Choice([JSON, YAML, *more]),
        callback=lambda _ctx, _param, value: value or "",
        help=f"{words}, only names, or more columns." if WIDE in more else f"{words}.",
    )


def print_object(obj: Obj, form: str) -> None:
    """One object, for programs."""
    terminal.echo_document(json_text(obj) if form == JSON else yaml_text(obj))


def json_text(obj: Obj, *, indent: bool = True) -> str:
    """The object as JSON of the same value, in which all that could steer a terminal is escaped."""
    text = orjson.dumps(obj, option=orjson.OPT_INDENT_2 if indent else None).decode()
    return (
        "".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)
        if not text.isprintable()
        else text
    )


def yaml_text(obj: Obj) -> str:
    """The object as YAML; texts with characters that a terminal could obey are written with escapes."""
    text = yaml.safe_dump(obj, sort_keys=False, allow_unicode=True)
    if all(map(str.isprintable, text.split("\n"))):
        return text
    return yaml.safe_dump(obj, sort_keys=False, allow_unicode=False)


def print_objects(objs: Sequence[Obj], form: str, name: Callable[[Obj], str] = str) -> None:
    """Several objects as the list that kubectl prints and applies, or the name of each on a line."""
    if form == NAME:
        for obj in objs:
            terminal.echo(name(obj))
        return
    print_object({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": list(objs)}, form)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with columns below each other; nothing is cut, however long it is."""
    rows = [[*map(safe, row)] for row in rows]
    return aligned_to(widths(rows), rows)


def table(rows: Sequence[Sequence[str]], width: int = 0) -> list[str]:
    """Rows below their header. Where they are wider than a terminal, each row is a block of lines instead:
    its first cell, and below it the others with their titles; a row without one belongs to the block above.
    """
    lines = aligned(rows)
    if not width or max(map(columns_of, lines)) <= width:
        return lines
    titles, *others = rows
    blocks: list[str] = []
    for first, *cells in others:
        named = [
            f"{title.lower()} {cell}"
            for title, cell in zip(titles[1:], cells, strict=True)
            if cell not in ("", NOTHING)
        ]
        blocks += [safe(first)] if first else []
        blocks += [part for line in _filled(named, width) for part in folded(safe(line), width)]
    return blocks


def _filled(cells: Sequence[str], width: int) -> list[str]:
    """Indented lines of as many cells as fit, so that a title stays beside its cell."""
    lines: list[str] = []
    for cell in cells:
        if lines and columns_of(f"{lines[-1]}, {cell},") <= width:
            lines[-1] += f", {cell}"
            continue
        if lines:
            lines[-1] += ","
        lines.append(f"{_INDENT * (1 + bool(lines))}{cell}")
    return lines


def widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column must be."""
    return [max(map(columns_of, column)) for column in zip(*rows, strict=True)]


def aligned_to(columns: Sequence[int], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines in columns of the given widths, where they fit."""
    return [
        _GAP.join(padded(cell, width) for cell, width in zip(row, columns, strict=True)).rstrip()
        for row in rows
    ]
