"""What a Table is made of: columns that know how to read their cells, and for each kind a printer of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vacate.api.ages import age
from vacate.api.objects import Obj, dig, name_of
from vacate.api.selectors.labels import selector_of
from vacate.api.untyped import maps
from vacate.errors import BadRequest

Read = Callable[[Obj, dt.datetime], Any]
"""The cell of an object, as of a moment."""
Cells = Callable[[Obj, dt.datetime], list[Any]]

NONE, UNKNOWN, UNSET = "<none>", "<unknown>", "<unset>"


def field(*path: str, default: Any = "") -> Read:
    """What stands at a place of the object; the default where that is nothing."""
    return lambda obj, _: dig(obj, *path) or default


_WITH_THE_ROW: Read = field()
"""Of a column whose printer reads all of a row at once."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; those of priority 1 are shown only in wide output."""

    name: str
    description: str
    read: Read = _WITH_THE_ROW
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


class Printer:
    """How a kind is shown."""

    def __init__(
        self,
        *columns: Column,
        cells: Cells | None = None,
        conditions: Callable[[Obj], list[Obj]] = lambda _: [],
    ) -> None:
        """`cells`: all of a row, where several follow from one look at the object."""
        self.columns = columns
        self.cells = cells or self._cells
        self.conditions = conditions

    def _cells(self, obj: Obj, now: dt.datetime) -> list[Any]:
        return [column.read(obj, now) for column in self.columns]


def wide(
    name: str, description: str, read: Read = _WITH_THE_ROW, type_: str = "string", format_: str = ""
) -> Column:
    """A column of wide output."""
    return Column(name, description, read, type_, format_, priority=1)


NAME = Column(
    "Name",
    "The object's name, unique among its kind and namespace.",
    lambda obj, _: name_of(obj),
    format="name",
)
AGE = Column("Age", "How long ago the object was created.", age)


def containers(*path: str, priority: int = 1) -> tuple[Column, Column]:
    """Names and images of the containers of the template there."""

    def listed(part: str) -> Read:
        return lambda obj, _: ",".join(
            str(one.get(part, "")) for one in maps(dig(obj, *path, "spec", "containers"))
        )

    return (
        Column("Containers", "Names of the containers in the template.", listed("name"), priority=priority),
        Column("Images", "Images of the containers in the template.", listed("image"), priority=priority),
    )


def selector(*path: str, empty: str = "", invalid: str = NONE) -> Column:
    """The selector there, or how one is shown that selects everything or cannot be read."""

    def shown(obj: Obj, _: dt.datetime) -> str:
        try:
            return str(selector_of(dig(obj, *path))) or empty
        except BadRequest:
            return invalid

    return wide("Selector", "Which pods belong to it.", shown)


def pairs(*path: str) -> Read:
    """A map of texts in one line."""
    return lambda obj, _: (
        ",".join(f"{key}={value}" for key, value in sorted((dig(obj, *path) or {}).items())) or NONE
    )
