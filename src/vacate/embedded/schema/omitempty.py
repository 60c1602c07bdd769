"""What Go's types do with empty values.

A JSON schema cannot say whether a field is a pointer, and so whether `false` means more than nothing, nor
whether it is written when nothing is in it. The table of protobuf messages can: it knows Go's struct tags.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from vacate.embedded.schema.protobuf.table import Field, table
from vacate.embedded.schema.table import Field as SchemaField
from vacate.embedded.schema.table import table as types

_ZEROES: dict[str, Any] = {
    "string": "", "bool": False, "int32": 0, "int64": 0, "float": 0, "quantity": "0", "intorstring": 0,
    "struct": {},
}  # fmt: skip


@cache
def go_field(type_name: str, field: str) -> Field | None:
    """What is known of a field; None where the table does not have it."""
    for known in table().messages.get(type_name, {}).values():
        if known.inlined:
            if found := go_field(known.type, field):
                return found
        elif known.name == field:
            return known
    return None


def omitted_when_zero(type_name: str, field: str) -> bool:
    """Whether Go writes no zero of this scalar."""
    known = go_field(type_name, field)
    return known is not None and known.drops_zero


def vanishes_when_empty(type_name: str, field: SchemaField) -> bool:
    """Whether an empty list or map is left out: storage, which is protobuf, cannot tell it from none.

    Types of our own are kept in the form in which they came, where the field is required.
    """
    return go_field(type_name, field.name) is not None or not field.required


def always_written(type_name: str) -> dict[str, Any]:
    """The fields that Go writes whatever they hold, and what it writes where nothing was given."""
    found: dict[str, Any] = {}
    for name, field in types().structs[type_name].fields.items():
        known = go_field(type_name, name)
        if known is not None and (known.always_there or known.null_where_absent):
            found[name] = None if known.null_where_absent else _ZEROES.get(field.shape.form)
    return found


@cache
def written_as_null(type_name: str) -> frozenset[str]:
    """The fields of which Go writes a null: lists, maps, times and pointers that it always writes."""
    return frozenset(name for name, zero in always_written(type_name).items() if zero is None)
