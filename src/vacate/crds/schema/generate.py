"""From typed structs to a structural schema: types, descriptions, limits, defaults, list-map keys."""

from __future__ import annotations

import datetime as dt
import types
import typing
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from vacate.api.objects import Obj
from vacate.api.times import TIME_PATTERN
from vacate.api.types.meta import ObjectMeta

_SCALARS: dict[Any, Obj] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    dt.datetime: {"type": "string", "format": "date-time", "pattern": TIME_PATTERN},
}
_IDENTITY: Obj = {
    "apiVersion": {
        "type": "string",
        "description": "The version of the API in which this object is written.",
    },
    "kind": {"type": "string", "description": "What this object is."},
}


@cache
def structural_schema(struct: type[msgspec.Struct]) -> Obj:
    """The schema of the objects of this struct. It is shared: copy it before changing anything."""
    made = _of_struct(struct)
    made["properties"] = {**_IDENTITY, **made["properties"]}
    # What is not given is filled in, so that defaults below it are seen from the beginning. API servers want
    # a default to be valid as it stands: what is required in it must be there.
    status = made["properties"]["status"]
    needed = status.get("required", [])
    status["default"] = {name: status["properties"][name]["default"] for name in needed}
    made["description"] = _sentence(struct)
    return made


def _of_struct(struct: type[msgspec.Struct]) -> Obj:
    hints = get_type_hints(struct, include_extras=True)
    properties: Obj = {}
    required: list[str] = []
    for field in msgspec.structs.fields(struct):
        plain, notes = _taken_apart(hints[field.name])
        properties[field.encode_name] = {**_of_type(plain), **_constraints(notes)}
        if any((note.extra or {}).get("required") for note in notes):
            required.append(field.encode_name)
    made: Obj = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    return made


def _taken_apart(hint: Any) -> tuple[Any, list[msgspec.Meta]]:
    """The plain type and its annotations."""
    if get_origin(hint) is not Annotated:
        return hint, []
    plain, *notes = get_args(hint)
    return plain, [note for note in notes if isinstance(note, msgspec.Meta)]


def _of_type(plain: Any) -> Obj:
    if get_origin(plain) in (types.UnionType, typing.Union):
        parts = [_taken_apart(part) for part in get_args(plain) if part is not type(None)]
        if {int, str} <= {part for part, _ in parts}:
            return {"x-kubernetes-int-or-string": True}
        plain, notes = parts[0]
        return {**_of_type(plain), **_constraints(notes)}
    if plain in _SCALARS:
        return dict(_SCALARS[plain])
    if plain is ObjectMeta:
        return {"type": "object"}
    if get_origin(plain) is list:
        inner, notes = _taken_apart(get_args(plain)[0])
        return {"type": "array", "items": {**_of_type(inner), **_constraints(notes)}}
    if get_origin(plain) is dict:
        inner, notes = _taken_apart(get_args(plain)[1])
        return {"type": "object", "additionalProperties": {**_of_type(inner), **_constraints(notes)}}
    return {"description": _sentence(plain), **_of_struct(plain)}


def _constraints(notes: list[msgspec.Meta]) -> Obj:
    constraints: Obj = {}
    for note in notes:
        if note.description:
            constraints["description"] = note.description
        constraints |= note.extra_json_schema or {}
    return constraints


def _sentence(struct: type[msgspec.Struct]) -> str:
    return (struct.__doc__ or "").strip().partition("\n")[0]
