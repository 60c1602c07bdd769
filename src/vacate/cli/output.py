"""What commands print: objects as JSON or YAML, and tables as kubectl shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
import orjson
import yaml

from vacate.api.objects import Obj

F = TypeVar("F", bound=Callable[..., Any])

JSON, YAML = "json", "yaml"
_GAP = "   "


def output_option(command: F) -> F:
    """Add -o; the command gets it as `output`, empty for people."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([JSON, YAML]),
        callback=lambda _ctx, _param, value: value or "",
        help="Print objects instead of words.",
    )(command)


def print_object(obj: Obj, form: str) -> None:
    """One object, for programs."""
    if form == JSON:
        click.echo(orjson.dumps(obj, option=orjson.OPT_INDENT_2).decode())
    else:
        click.echo(yaml.safe_dump(obj, sort_keys=False, allow_unicode=True), nl=False)


def print_objects(objs: Sequence[Obj], form: str) -> None:
    """Several objects as the list that kubectl prints and applies."""
    print_object({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": list(objs)}, form)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with columns below each other; nothing is cut, however long it is."""
    return aligned_to(widths(rows), rows)


def widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column must be."""
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def aligned_to(columns: Sequence[int], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines in columns of the given widths, where they fit."""
    return [
        _GAP.join(cell.ljust(width) for cell, width in zip(row, columns, strict=True)).rstrip()
        for row in rows
    ]
