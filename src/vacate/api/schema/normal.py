"""What decoding into typed structs makes of an object that is of the right types.

Nulls of known fields vanish, null items become the zero of their type, quantities and times take their
canonical form, empty lists and maps that may be missing are left out. Unknown fields stay as they are.
"""

from __future__ import annotations

from typing import Any

from vacate.api.quantity import parse_quantity
from vacate.api.schema import moments
from vacate.api.schema.table import Field, Shape, Struct, table

_ZEROES: dict[str, Any] = {
    "string": "", "bytes": "", "bool": False, "int32": 0, "int64": 0, "float": 0, "quantity": "0",
    "intorstring": 0, "struct": {}, "time": None, "microtime": None, "list": None, "map": None, "any": None,
}  # fmt: skip


def normal_struct(struct: Struct, value: dict[str, Any]) -> dict[str, Any]:
    """The object as it is stored; the parts that do not change are shared with the original."""
    result = {}
    for key, item in value.items():
        field = struct.fields.get(key)
        kept = item if field is None else _normal_field(field, item)
        if field is None or kept is not None:
            result[key] = kept
    return result


def _normal_field(field: Field, item: Any) -> Any:
    if item is None or (not field.required and field.shape.form in ("list", "map") and not item):
        return None
    return _normal(field.shape, item)


def _normal(shape: Shape, value: Any) -> Any:
    form, inner = shape.form, shape.inner
    if value is None:
        zero = _ZEROES[form]
        return {} if zero == {} else zero
    if form == "struct":
        return normal_struct(table().structs[shape.type_name], value)
    if form == "list" and inner is not None:
        return [_normal(inner, item) for item in value]
    if form == "map" and inner is not None:
        return {key: _normal(inner, item) for key, item in value.items()}
    if form == "quantity":
        return str(parse_quantity(value.strip() if isinstance(value, str) else value))
    if form in ("time", "microtime"):
        moment = moments.canonical(value, micro=form == "microtime")
        return None if moments.is_zero(moment) else moment
    return value
