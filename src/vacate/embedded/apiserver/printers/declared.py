"""Tables of declared kinds: the printer columns of the CRD, read by their JSON paths."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from vacate.api.ages import since
from vacate.api.columns import NAME, Column, Printer
from vacate.api.objects import Obj, name_of
from vacate.api.untyped import mapping, maps
from vacate.crds.customresource import CustomResource, PrinterColumn

_STEP = re.compile(r'[.](\w+)(?:\[[?]\(@[.](\w+)=="([^"]*)"\)\])?')
"""A field, or the first of a list's items in which another field has a value."""


def printer_of_declaration(declaration: CustomResource) -> Printer:
    """The printer that a declaration describes."""
    columns = declaration.columns

    def cells(obj: Obj, now: dt.datetime) -> list[Any]:
        return [name_of(obj), *(_cell(column, obj, now) for column in columns)]

    shown = tuple(Column(one.name, one.description, one.type, "", one.priority) for one in columns)
    return Printer((NAME, *shown), cells)


def _cell(column: PrinterColumn, obj: Obj, now: dt.datetime) -> Any:
    if column.shown is not None:
        return column.shown(obj)
    value: Any = obj
    for name, key, wanted in _STEP.findall(column.json_path):
        value = mapping(value).get(name)
        if key:
            value = next((one for one in maps(value) if one.get(key) == wanted), None)
    return since(value, now) if column.type == "date" else value
