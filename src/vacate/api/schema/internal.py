"""Objects as a server has them inside, which some of its refusals show: by the names of Go's fields.

`internal.txt` has the types (`type PodSpec`), each with a line for each field: its name in Go, its name in
JSON and its shape. `*` stands before what may be missing, `[]` and `{}` before the shape of a list's or a
map's items, `@` before the name of a type. The fields of an embedded type (`=`) stand among those of the
outer one; what they are made from is then under the second name, or among the others too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from vacate.api.objects import Obj
from vacate.api.protobuf.table import table as messages

_EMBEDDED = "="
_ZEROES: dict[str, Any] = {"string": "", "bool": False, "int": 0, "quantity": "0"}


@dataclass(frozen=True, slots=True)
class _Field:
    go_name: str
    name: str
    shape: str


def internal_form(type_name: str, obj: Obj) -> Obj:
    """An object of this type, written with everything that Go's type has, in its order."""
    return dict(_fields(type_name, obj))


def _fields(type_name: str, obj: Obj) -> Iterator[tuple[str, Any]]:
    for field in _types()[type_name]:
        if field.go_name != _EMBEDDED:
            yield field.go_name, _form(field.shape, obj.get(field.name))
        elif field.shape.startswith("@"):
            yield from _fields(field.shape[1:], obj)
        else:
            yield from _tagged(field.shape, _mapping(obj.get(field.name))).items()


def _form(shape: str, value: Any) -> Any:
    if shape.startswith("*"):
        return None if value is None else _form(shape[1:], value)
    if shape.startswith("[]"):
        return [_form(shape[2:], item) for item in value] if value and type(value) is list else None
    if shape.startswith("{}"):
        return {key: _form(shape[2:], value[key]) for key in sorted(value)} if _mapping(value) else None
    if shape.startswith("@"):
        return internal_form(shape[1:], _mapping(value))
    if shape.startswith("meta."):
        return _tagged(shape, _mapping(value))
    return _ZEROES.get(shape) if value is None else value


def _mapping(value: Any) -> Obj:
    return value if type(value) is dict else {}


def _tagged(message: str, obj: Obj) -> Obj:
    """A type that has the same names inside as outside; only the order is Go's."""
    known = [field for field in messages().messages[message].values() if field.name in obj]
    return {field.name: _tagged_value(field.type, obj[field.name]) for field in known}


def _tagged_value(type_: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_tagged_value(type_, item) for item in value]
    if not isinstance(value, dict):
        return value
    return _tagged(type_, value) if type_ in messages().messages else dict(sorted(value.items()))


@cache
def _types() -> dict[str, list[_Field]]:
    found: dict[str, list[_Field]] = {}
    text = (files("vacate.api.schema") / "internal.txt").read_text(encoding="ascii")
    for line in text.splitlines():
        words = line.split()
        if words[0] == "type":
            found[words[1]] = fields = []
        elif words[0] != "#":
            fields.append(_Field(*words))
    return found
