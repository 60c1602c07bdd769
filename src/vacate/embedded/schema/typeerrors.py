"""Why an object cannot be decoded: each field that has a value of a wrong type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vacate.embedded.schema.mismatch import mismatch
from vacate.embedded.schema.scan import WRONG, is_wrong, scanner
from vacate.embedded.schema.table import Shape, Struct, table


def errors_of(struct: Struct, obj: Any, path: str = "") -> list[str]:
    """All errors, with their fields below the path; the server answers with the first one."""
    return list(_struct(struct, obj, path))


def _struct(struct: Struct, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield mismatch("struct", value, path)
        return
    if not scanner(struct.name)(value) & WRONG:
        return
    for key, item in value.items():
        field = struct.fields.get(key)
        if field is not None and item is not None:
            yield from _value(field.shape, item, f"{path}.{key}" if path else key)


def _value(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if shape.form == "struct":
        yield from _struct(table().structs[shape.type_name], value, path)
    elif shape.inner is not None:
        yield from _items(shape, shape.inner, value, path)
    elif is_wrong(shape, value):
        yield mismatch(shape.form, value, path)


def _items(shape: Shape, inner: Shape, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, list if shape.form == "list" else dict):
        yield mismatch(shape.form, value, path)
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if item is not None:
            yield from _value(inner, item, f"{path}[{key}]")
