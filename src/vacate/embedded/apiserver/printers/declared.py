"""Tables of declared kinds: the printer columns of the CRD, read by their JSON paths."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import since
from vacate.api.columns import NAME, Column, Printer
from vacate.api.objects import Obj, dig, name_of
from vacate.crds.declaration import Declaration, PrinterColumn


def printer_of_declaration(declaration: Declaration) -> Printer:
    """The printer that a declaration describes; its paths are plain ones."""
    columns = declaration.columns

    def cells(obj: Obj, now: dt.datetime) -> list[Any]:
        return [name_of(obj), *(_cell(column, obj, now) for column in columns)]

    shown = tuple(Column(one.name, one.description, one.type, "", one.priority) for one in columns)
    return Printer((NAME, *shown), cells)


def _cell(column: PrinterColumn, obj: Obj, now: dt.datetime) -> Any:
    value = dig(obj, *column.json_path.removeprefix(".").split("."))
    return since(value, now) if column.type == "date" else value
