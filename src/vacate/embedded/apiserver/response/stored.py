"""A stored value and its two other forms: a dict of its own, and the bytes that a client gets.

A stored value carries no `kind` and `apiVersion`: items of most lists have none on the wire either;
single objects get them put in front (`whole`).
"""

from __future__ import annotations

import orjson

from vacate.api.kinds import Kind
from vacate.api.objects import Obj, metadata
from vacate.embedded.store.types import Encode, Entry, Key

_TYPE_FIELDS = ("kind", "apiVersion")
_PREFIXES: dict[Kind, bytes] = {}


def type_prefix(kind: Kind) -> bytes:
    """The beginning of an encoded object of the kind, up to its first own field."""
    prefix = _PREFIXES.get(kind)
    if prefix is None:
        prefix = b'{"kind":"%b","apiVersion":"%b",' % (kind.kind.encode(), kind.api_version.encode())
        _PREFIXES[kind] = prefix
    return prefix


def whole(kind: Kind, value: bytes) -> bytes:
    """A stored value as a client gets it: with kind and apiVersion."""
    return type_prefix(kind) + value[1:]


def decode(kind: Kind, entry: Entry) -> Obj:
    """A stored object as a dict of its own, with kind and apiVersion."""
    obj: Obj = {"kind": kind.kind, "apiVersion": kind.api_version}
    obj.update(orjson.loads(entry.value))
    return obj


def key_of(kind: Kind, obj: Obj) -> Key:
    """Where the object lives."""
    meta = obj["metadata"]
    return Key(kind.resource, meta.get("namespace", "") if kind.namespaced else "", meta["name"])


def encoder(obj: Obj) -> Encode:
    """Encodes the object for a revision, without kind and apiVersion."""
    body = {key: value for key, value in obj.items() if key not in _TYPE_FIELDS}
    meta = metadata(body)

    def encode(revision: int) -> bytes:
        meta["resourceVersion"] = str(revision)
        # A copy: what orjson returns keeps the room that the worst case would need, ten times its size.
        return bytes(memoryview(orjson.dumps(body)))

    return encode


def same_object(encoded: bytes, stored: bytes) -> bool:
    """Whether two values say the same, in whatever order: a client may send the fields in its own."""
    if encoded == stored:
        return True
    return len(encoded) == len(stored) and bool(orjson.loads(encoded) == orjson.loads(stored))
