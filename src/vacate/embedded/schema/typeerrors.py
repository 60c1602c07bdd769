"""Why an object cannot be decoded, in the words of Go's JSON decoder, which reports the first error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacate.api.integers import fits
from vacate.api.quantity import FORMAT_WRONG, parse_quantity
from vacate.embedded.schema import times
from vacate.embedded.schema.scan import WRONG, is_base64, scanner
from vacate.embedded.schema.table import Shape, Struct, table

_GO_SCALARS = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "float": "float64"}
_GO_SCALARS |= {"bytes": "[]uint8", "time": "string", "microtime": "string", "intorstring": "int32"}
_JSON_NAMES: dict[type, str] = {str: "string", list: "array", dict: "object"}


@dataclass(frozen=True, slots=True)
class _Fault:
    text: str
    # Times and quantities decode themselves and end the decoding at once; other errors are only remembered.
    ends: bool = False


def errors_of(struct: Struct, obj: Any) -> list[str]:
    """All errors; the first one is what a server answers."""
    found = list(_struct(struct, obj, "", ""))
    return [field_error.text for field_error in sorted(found, key=lambda field_error: not field_error.ends)]


def _struct(struct: Struct, value: Any, path: str, outer: str) -> Iterator[_Fault]:
    if not isinstance(value, dict):
        yield _unmarshal(_describe(value), outer, path, _go_type(Shape("struct", type_name=struct.name)))
        return
    if not scanner(struct.name)(value) & WRONG:
        return
    for key, item in value.items():
        field = struct.fields.get(key)
        if field is not None and item is not None:
            yield from _value(field.shape, item, f"{path}.{key}" if path else key, struct.go_name)


def _value(shape: Shape, value: Any, path: str, outer: str) -> Iterator[_Fault]:
    if shape.form == "struct":
        yield from _struct(table().structs[shape.type_name], value, path, outer)
    elif shape.form in ("list", "map"):
        yield from _items(shape, value, path, outer)
    elif shape.form == "quantity":
        yield from _quantity(value)
    else:
        yield from _scalar(shape, value, path, outer)


def _items(shape: Shape, value: Any, path: str, outer: str) -> Iterator[_Fault]:
    if not isinstance(value, list if shape.form == "list" else dict):
        yield _unmarshal(_describe(value), outer, path, _go_type(shape))
        return
    assert shape.inner is not None
    for item in value.values() if isinstance(value, dict) else value:
        if item is not None:
            yield from _value(shape.inner, item, path, outer)


def _quantity(value: Any) -> Iterator[_Fault]:
    if type(value) not in (str, int, float):
        yield _Fault(FORMAT_WRONG, ends=True)
        return
    try:
        parse_quantity(value.strip() if isinstance(value, str) else value)
    except ValueError as error:
        yield _Fault(str(error), ends=True)


def _scalar(shape: Shape, value: Any, path: str, outer: str) -> Iterator[_Fault]:
    form = shape.form
    if form == "any" or (form == "intorstring" and type(value) is str):
        return
    if form in ("int32", "int64", "intorstring"):
        if not fits(value, "int64" if form == "int64" else "int32"):
            yield _unmarshal(_describe(value, number=True), outer, path, _go_type(shape))
    elif form == "float":
        if type(value) not in (int, float):
            yield _unmarshal(_describe(value), outer, path, _go_type(shape))
    elif not isinstance(value, bool if form == "bool" else str):
        field_error = _unmarshal(_describe(value), outer, path, _go_type(shape))
        yield _Fault(field_error.text, ends="time" in form)
    elif isinstance(value, bool):
        return
    elif "time" in form:
        yield from _moment(value, micro=form == "microtime")
    elif form == "bytes" and not is_base64(value):
        yield _Fault("illegal base64 data at input byte 0")


def _moment(value: str, *, micro: bool) -> Iterator[_Fault]:
    try:
        times.canonical(value, micro=micro)
    except ValueError as error:
        yield _Fault(str(error), ends=True)


def _unmarshal(what: str, outer: str, path: str, go_type: str) -> _Fault:
    where = f"struct field {outer}.{path}" if outer else "value"
    return _Fault(f"json: cannot unmarshal {what} into Go {where} of type {go_type}")


def _describe(value: Any, *, number: bool = False) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value}" if number else "number"
    return _JSON_NAMES.get(type(value), "null")


def _go_type(shape: Shape) -> str:
    if shape.form == "struct":
        return ".".join(shape.type_name.split(".")[-2:])
    if shape.inner is not None:
        return f"[]{_go_type(shape.inner)}" if shape.form == "list" else f"map[string]{_go_type(shape.inner)}"
    return {"quantity": "resource.Quantity", "any": "v1.FieldsV1"}.get(shape.form) or _GO_SCALARS[shape.form]
