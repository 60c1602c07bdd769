"""The table of types: what the fields of each kind look like, and how patches merge them.

`table.txt` has a line for each kind (`kind apps/v1 Deployment apps.v1.Deployment`), and after the line of
each type (`type core.v1.PodSpec`) an indented one for each field:

    containers []@core.v1.Container patch=merge key=name list=map keys=name required

A shape is a scalar's name, `@` and a type's name, or `[]` or `{}` (list or map) before the items' shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from vacate.api.kinds import Kind

TypeRef = Kind | tuple[str, str]
"""A kind, or the `apiVersion` and `kind` of one that has no entry in the table of kinds, such as Scale."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value looks like: `list` and `map` of an inner shape, `struct` of a type, or a scalar."""

    form: str
    inner: Shape | None = None
    type_name: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a type."""

    name: str
    shape: Shape
    merge_key: str = ""
    patch_strategies: tuple[str, ...] = ()
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """A type with named fields."""

    name: str
    fields: Mapping[str, Field] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Table:
    """All types by name, and the type of each kind."""

    structs: Mapping[str, Struct]
    kinds: Mapping[tuple[str, str], str]

    def struct_of(self, ref: TypeRef) -> Struct | None:
        """The type of a kind; None where the table does not know it."""
        name = self.kinds.get((ref.api_version, ref.kind) if isinstance(ref, Kind) else ref)
        return None if name is None else self.structs[name]


@cache
def table() -> Table:
    """The table, read on first use."""
    return parse_table((files("vacate.embedded.schema") / "table.txt").read_text())


def parse_table(text: str) -> Table:
    """Read the table's notation."""
    structs: dict[str, Struct] = {}
    kinds: dict[tuple[str, str], str] = {}
    fields: dict[str, Field] = {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith(" "):
            fields[words[0]] = _field(words)
        elif words[0] == "type":
            fields = {}
            structs[words[1]] = Struct(words[1], fields)
        elif words[0] == "kind":
            kinds[words[1], words[2]] = words[3]
    return Table(structs, kinds)


def _field(words: list[str]) -> Field:
    name, shape, *notes = words
    found = dict(note.partition("=")[::2] for note in notes)
    return Field(
        name,
        parse_shape(shape),
        merge_key=found.get("key", ""),
        patch_strategies=tuple(filter(None, found.get("patch", "").split(","))),
        list_type=found.get("list", ""),
        list_keys=tuple(filter(None, found.get("keys", "").split(","))),
        required="required" in found,
    )


@cache
def parse_shape(text: str) -> Shape:
    """Read one shape."""
    if text.startswith("[]"):
        return Shape("list", inner=parse_shape(text[2:]))
    if text.startswith("{}"):
        return Shape("map", inner=parse_shape(text[2:]))
    if text.startswith("@"):
        return Shape("struct", type_name=text[1:])
    return Shape(text)
