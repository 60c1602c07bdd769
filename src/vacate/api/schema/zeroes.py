"""What Go's types do with empty values.

A JSON schema cannot say whether a field is a pointer, and so whether `false` means more than nothing, nor
whether it is written when nothing is in it. The table of protobuf messages can: it knows Go's struct tags.
"""

from __future__ import annotations

from functools import cache

from vacate.api.protobuf.table import Field, table
from vacate.api.schema.table import Field as SchemaField


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
