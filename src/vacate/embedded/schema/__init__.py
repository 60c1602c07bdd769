"""The schema table, and what Go's typed structs do to an object: check, normalise, complete, refuse.

The objects themselves stay dicts.
"""

from __future__ import annotations

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.embedded.schema.custom import settle_custom
from vacate.embedded.schema.normalize import normalise_struct
from vacate.embedded.schema.scan import CHANGES, UNKNOWN, WRONG, scanner
from vacate.embedded.schema.table import Field, Shape, Struct, Table, TypeRef, table
from vacate.embedded.schema.typeerrors import errors_of
from vacate.embedded.schema.unknown import drop_unknown
from vacate.embedded.schema.zerovalues import completer
from vacate.errors import BadRequest

__all__ = [
    "Field",
    "Shape",
    "Struct",
    "Table",
    "TypeRef",
    "complete",
    "decode",
    "refusal",
    "settle",
    "table",
]


def decode(kind: TypeRef, obj: Obj, unknown: list[str] | None = None) -> Obj:
    """Check and normalise in one look, in place; BadRequest where that fails.

    Fields that the type does not have are dropped, and their paths added to `unknown`.
    """
    field_errors = settle(kind, obj, unknown)
    if field_errors:
        raise refusal(kind, field_errors[0])
    return obj


def settle(kind: TypeRef, obj: Obj, unknown: list[str] | None = None) -> list[str]:
    """As `decode`, but says what is wrong instead of refusing."""
    if isinstance(kind, Kind) and kind.custom:
        return settle_custom(kind, obj)
    struct = table().struct_of(kind)
    if struct is None:
        return []
    found = scanner(struct.name)(obj)
    if found & WRONG:
        return errors_of(struct, obj)
    if found & UNKNOWN:
        dropped = drop_unknown(struct, obj)
        if unknown is not None:
            unknown += dropped
    if found & CHANGES:
        normalise_struct(struct, obj)
    return []


def complete(kind: TypeRef, obj: Obj) -> None:
    """Put in, in place, what Go writes whether or not there is anything to say."""
    struct = table().struct_of(kind)
    fill = None if struct is None else completer(struct.name)
    if fill is not None:
        fill(obj)


def refusal(ref: TypeRef, field_error: str) -> BadRequest:
    """400 for an object that cannot be read as one of its type."""
    name, version = (ref.kind, ref.version) if isinstance(ref, Kind) else (ref[1], ref[0].rpartition("/")[2])
    return BadRequest(f'{name} in version "{version}" cannot be handled as a {name}: {field_error}')
