"""What decoding into typed structs makes of an object that is of the right types; done in place.

Nulls of known fields vanish where Go writes none, null items become the zero of their type, quantities and
times take their canonical form, empty lists and maps are left out, and so are zeroes that Go leaves out.
Fields that the type does not have are none of its business.
"""

from __future__ import annotations

from typing import Any

from vacate.api.quantity import parse_quantity
from vacate.embedded.schema import times as moments
from vacate.embedded.schema.omitempty import omitted_when_zero, vanishes_when_empty, written_as_null
from vacate.embedded.schema.table import Field, Shape, Struct, table

_ZEROES: dict[str, Any] = {
    "string": "", "bytes": "", "bool": False, "int32": 0, "int64": 0, "float": 0, "quantity": "0",
    "intorstring": 0,
}  # fmt: skip


def normalise_struct(struct: Struct, value: dict[str, Any]) -> None:
    """Bring an object into the form in which it is stored."""
    nulls = written_as_null(struct.name)
    for key, item in list(value.items()):
        field = struct.fields.get(key)
        if field is None or (item is None and key in nulls):
            continue
        kept = None if _is_empty(struct, field, item) else _normal(field.shape, item)
        if kept is None:
            del value[key]
        else:
            value[key] = kept


def _is_empty(struct: Struct, field: Field, item: Any) -> bool:
    if item or item is None:
        return item is None
    if field.shape.form in ("list", "map"):
        return vanishes_when_empty(struct.name, field)
    return omitted_when_zero(struct.name, field.name)


def _normal(shape: Shape, value: Any) -> Any:
    form, inner = shape.form, shape.inner
    if value is None:
        return {} if form == "struct" else _ZEROES.get(form)
    if form == "struct":
        normalise_struct(table().structs[shape.type_name], value)
    elif form == "list" and inner is not None:
        value[:] = (_normal(inner, item) for item in value)
    elif form == "map" and inner is not None:
        value.update({key: _normal(inner, item) for key, item in value.items()})
    elif form == "quantity":
        return str(parse_quantity(value.strip() if isinstance(value, str) else value))
    elif form in ("time", "microtime"):
        moment = moments.canonical(value, micro=form == "microtime")
        return None if moments.is_zero(moment) else moment
    return value
