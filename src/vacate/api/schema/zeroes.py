"""Which scalars vanish when they are zero.

A JSON schema cannot say whether a field is a pointer, and so whether `false` means more than nothing. The
table of protobuf messages can: it knows what Go's types leave out.
"""

from __future__ import annotations

from functools import cache

from vacate.api.protobuf.table import table


@cache
def omitted_when_zero(type_name: str, field: str) -> bool:
    """Whether Go writes no zero of this field."""
    for known in table().messages.get(type_name, {}).values():
        if known.inlined:
            if omitted_when_zero(known.type, field):
                return True
        elif known.name == field:
            return known.drops_zero
    return False
