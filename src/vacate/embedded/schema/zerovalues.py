"""The fields that Go writes whatever they hold: zeroes, empty structs, null for times that were never set.

Types are compiled on first use into the few fields that matter, so that a look at a complete object is cheap.
Types that the table of Go's structs does not have are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from vacate.api.objects import Obj
from vacate.embedded.schema.omitempty import always_written
from vacate.embedded.schema.table import Shape, table

Complete = Callable[[Any], None]


@cache
def completer(type_name: str) -> Complete | None:
    """Puts what is missing into a struct of this type, in place; None where nothing can be missing."""
    struct = table().structs[type_name]
    wanted = always_written(type_name)
    zeroes = [(name, zero) for name, zero in wanted.items() if zero != {}]
    structs = [name for name, zero in wanted.items() if zero == {}]
    inner = [(name, found) for name, field in struct.fields.items() if (found := _of_shape(field.shape))]
    if not zeroes and not structs and not inner:
        return None

    def complete(value: Obj) -> None:
        for name, zero in zeroes:
            if name not in value:
                value[name] = zero
        for name in structs:
            if name not in value:
                value[name] = {}
        for name, fill in inner:
            if name in value:
                fill(value[name])

    return complete


def _of_shape(shape: Shape) -> Complete | None:
    if shape.form == "struct":
        found = completer(shape.type_name)
        return None if found is None else _whole(found)
    found = _of_shape(shape.inner) if shape.inner is not None else None
    if found is None:
        return None
    return _each(found) if shape.form == "list" else _each_value(found)


def _whole(fill: Complete) -> Complete:
    return lambda value: fill(value) if type(value) is dict else None


def _each(fill: Complete) -> Complete:
    def fill_items(items: Any) -> None:
        if type(items) is list:
            for item in items:
                fill(item)

    return fill_items


def _each_value(fill: Complete) -> Complete:
    def fill_values(items: Any) -> None:
        if type(items) is dict:
            for item in items.values():
                fill(item)

    return fill_values
