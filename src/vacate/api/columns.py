"""What a Table is made of: columns, and for each kind a printer that knows its columns and fills its rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vacate.api.objects import Obj

Cells = Callable[[Obj, dt.datetime], list[Any]]
"""The cells of an object's row, as of a moment."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; those of priority 1 are shown only in wide output."""

    name: str
    description: str
    type: str = "string"
    format: str = ""
    priority: int = 0

    def definition(self) -> Obj:
        """The column as the API has it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Printer:
    """How a kind is shown."""

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Callable[[Obj], list[Obj]] = lambda _: []


def wide(name: str, description: str, type_: str = "string", format_: str = "") -> Column:
    """A column of wide output."""
    return Column(name, description, type_, format_, priority=1)


NAME = Column("Name", "The object's name, unique among its kind and namespace.", format="name")
AGE = Column("Age", "How long ago the object was created.")
CONTAINERS = wide("Containers", "Names of the containers in the template.")
IMAGES = wide("Images", "Images of the containers in the template.")
