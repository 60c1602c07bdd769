"""The schema table, and what decoding into typed structs does to an object: check, normalise, refuse.

The objects themselves stay dicts, so that fields of newer releases survive.
"""

from __future__ import annotations

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.schema.faults import faults_of
from vacate.api.schema.normal import normal_struct
from vacate.api.schema.scan import CHANGES, CLEAN, WRONG, scanner
from vacate.api.schema.table import Field, Shape, Struct, Table, TypeRef, table
from vacate.errors import BadRequest

__all__ = [
    "Field",
    "Shape",
    "Struct",
    "Table",
    "TypeRef",
    "check_types",
    "decode",
    "faults",
    "normalise",
    "table",
]


def check_types(kind: TypeRef, obj: Obj) -> list[str]:
    """Wrong JSON types of known fields, worded as a server's refusal; the first is the one to answer with."""
    return [_refusal(kind, fault) for fault in faults(kind, obj)]


def faults(kind: TypeRef, obj: Obj) -> list[str]:
    """The same in the bare words of the decoder."""
    struct = table().struct_of(kind)
    if struct is None or not scanner(struct.name)(obj) & WRONG:
        return []
    return faults_of(struct, obj)


def normalise(kind: TypeRef, obj: Obj) -> Obj:
    """The object as it is stored, for an object that has no wrong types; itself where nothing changes."""
    struct = table().struct_of(kind)
    if struct is None or scanner(struct.name)(obj) != CHANGES:
        return obj
    return normal_struct(struct, obj)


def decode(kind: TypeRef, obj: Obj) -> Obj:
    """Check and normalise in one look; BadRequest as a server words it."""
    struct = table().struct_of(kind)
    if struct is None:
        return obj
    found = scanner(struct.name)(obj)
    if found == CLEAN:
        return obj
    if found & WRONG:
        raise BadRequest(_refusal(kind, faults_of(struct, obj)[0]))
    return normal_struct(struct, obj)


def _refusal(ref: TypeRef, fault: str) -> str:
    name, version = (ref.kind, ref.version) if isinstance(ref, Kind) else (ref[1], ref[0].rpartition("/")[2])
    return f'{name} in version "{version}" cannot be handled as a {name}: {fault}'
