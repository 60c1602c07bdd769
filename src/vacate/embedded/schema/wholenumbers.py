"""Whole floats as integers, which the outcome of a strategic merge may have where a decoded body may not.

Numbers out of the range of their field stay as they are, to be refused, where kube-apiserver lets them wrap
around: what a field may hold does not depend on how it is written.
"""

from __future__ import annotations

from typing import Any

from vacate.api.integers import whole
from vacate.api.objects import Obj
from vacate.embedded.schema.table import Shape, Struct, TypeRef, table

_INTEGERS = ("int32", "int64", "intorstring")


def make_whole(kind: TypeRef, obj: Obj) -> None:
    """Make integers of whole floats, in place, where fields want them."""
    struct = table().struct_of(kind)
    if struct is not None:
        _struct(struct, obj)


def _struct(struct: Struct, value: Obj) -> None:
    for name in value.keys() & struct.fields.keys():
        value[name] = _value(struct.fields[name].shape, value[name])


def _value(shape: Shape, value: Any) -> Any:
    if shape.form in _INTEGERS:
        return whole(value)
    if shape.form == "struct" and isinstance(value, dict):
        _struct(table().structs[shape.type_name], value)
    elif shape.form == "list" and isinstance(value, list):
        return [_value(shape.inner, item) for item in value] if shape.inner else value
    elif shape.form == "map" and isinstance(value, dict):
        return {key: _value(shape.inner, item) for key, item in value.items()} if shape.inner else value
    return value
