"""Fields that a type does not have: decoding drops them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vacate.embedded.schema.table import Shape, Struct, table


def drop_unknown(struct: Struct, value: dict[str, Any]) -> list[str]:
    """Take them out, in place; gives their paths, in the order of the object."""
    return list(_dropped(struct, value, ""))


def _dropped(struct: Struct, value: dict[str, Any], path: str) -> Iterator[str]:
    for key, item in list(value.items()):
        field = struct.fields.get(key)
        here = f"{path}.{key}" if path else key
        if field is None:
            del value[key]
            yield here
        else:
            yield from _within(field.shape, item, here)


def _within(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if shape.form == "struct" and isinstance(value, dict):
        yield from _dropped(table().structs[shape.type_name], value, path)
    elif shape.inner is not None and shape.form == "list" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _within(shape.inner, item, f"{path}[{index}]")
    elif shape.inner is not None and shape.form == "map" and isinstance(value, dict):
        for key, item in value.items():
            yield from _within(shape.inner, item, f"{path}.{key}")
