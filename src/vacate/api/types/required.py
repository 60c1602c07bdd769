"""A struct as an object that the definition accepts: required fields are there, and times are acceptable.

Structs leave out what has its default. A required field that is empty, such as the message of a condition
that another client wrote, must be written all the same, or the API server refuses the whole status.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from vacate.api.objects import Obj
from vacate.api.times import format_exact_time
from vacate.api.types.meta import Projection


def with_required(struct: Projection) -> Obj:
    """The struct as an object, all of its required fields included."""
    return _completed(struct, msgspec.to_builtins(struct, builtin_types=(dt.datetime,)))


def _completed(struct: Projection, found: Obj) -> Obj:
    """The object that a struct was made into, with what such an object leaves out; parts of it likewise."""
    for name, encoded, required in _fields(type(struct)):
        value = getattr(struct, name)
        if isinstance(value, Projection):
            if encoded in found:
                _completed(value, found[encoded])
            elif required:
                found[encoded] = with_required(value)
        elif isinstance(value, list) and value and isinstance(value[0], Projection):
            for one, made in zip(value, found[encoded], strict=True):
                _completed(one, made)
        elif isinstance(value, dt.datetime):
            found[encoded] = format_exact_time(value)
        elif required and value is not None:
            found.setdefault(encoded, msgspec.to_builtins(value))
    return found


@lru_cache(maxsize=64)
def _fields(struct: type[Projection]) -> tuple[tuple[str, str, bool], ...]:
    """The fields: their names, in the struct and on the wire, and whether they are required."""
    hints = get_type_hints(struct, include_extras=True)
    return tuple(
        (one.name, one.encode_name, _is_required(hints[one.name])) for one in msgspec.structs.fields(struct)
    )


def _is_required(hint: Any) -> bool:
    if get_origin(hint) is not Annotated:
        return False
    notes = (one for one in get_args(hint)[1:] if isinstance(one, msgspec.Meta))
    return any((note.extra or {}).get("required", False) for note in notes)
