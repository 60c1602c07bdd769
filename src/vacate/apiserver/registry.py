"""What verbs touch the store with: decode, compare-and-swap on the tip, encode with the new revision.

Everything from reading the tip to staging a write is synchronous, so that a read-modify-write inside the
server meets no race. Only the wait for the disk is awaited.

A stored value carries no `kind` and `apiVersion`: items of a list have none on the wire either, and single
objects get them put in front (`whole`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from vacate import errors
from vacate.admission.types import Context
from vacate.api import status
from vacate.api.identity import User
from vacate.api.kinds import Kind
from vacate.api.objects import Obj, metadata
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.features import FeatureGates
from vacate.store.store import Store, Write
from vacate.store.types import Encode, Entry, Key

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


@dataclass(slots=True)
class Registry:
    """The server's hands: store, clock, entropy and gates, and the few moves that all verbs share."""

    store: Store
    clock: Clock
    entropy: Entropy
    gates: FeatureGates = field(default_factory=FeatureGates)

    def current(self, kind: Kind, namespace: str, name: str) -> tuple[Entry, Obj]:
        """The newest state, writes under way included, or NotFound."""
        entry = self.store.tip(Key(kind.resource, namespace, name))
        if entry is None:
            raise status.not_found(kind, name)
        return entry, decode(kind, entry)

    def lookup(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        """Another object, for strategies that must look around."""
        entry = self.store.tip(Key(kind.resource, namespace, name))
        return None if entry is None else decode(kind, entry)

    def context(self, user: User, subresource: str = "") -> Context:
        """What a strategy may know beside the object."""
        return Context(user, self.clock.now(), self.gates, self.lookup, subresource)

    def stage_create(self, kind: Kind, obj: Obj) -> Write:
        """Put a new object into the log, or AlreadyExists."""
        key = key_of(kind, obj)
        try:
            return self.store.put(key, encoder(obj), expect=0)
        except errors.KeyExists:
            raise status.already_exists(kind, key.name) from None

    def stage_update(self, kind: Kind, obj: Obj, old: Entry) -> Write | None:
        """Put the next state into the log; None where it equals the old one and nothing is written."""
        if encoder(obj)(old.revision) == old.value:
            return None
        try:
            return self.store.put(old.key, encoder(obj), expect=old.revision)
        except errors.KeyChanged:
            raise status.modified(kind, old.key.name) from None

    def stage_delete(self, kind: Kind, last: Obj, old: Entry) -> Write:
        """Take the object out; `last` is the state that watchers see go."""
        try:
            return self.store.delete(old.key, encoder(last), expect=old.revision)
        except errors.KeyChanged:
            raise status.modified(kind, old.key.name) from None

    async def write_create(self, kind: Kind, obj: Obj) -> Entry:
        """Create and wait for the disk."""
        return await self.stage_create(kind, obj).done()

    async def write_update(self, kind: Kind, obj: Obj, old: Entry) -> Entry:
        """Update and wait for the disk; an update that changes nothing returns the old entry."""
        write = self.stage_update(kind, obj, old)
        if write is not None:
            return await write.done()
        await self.store.wait_for(old.revision)
        return old

    async def write_delete(self, kind: Kind, last: Obj, old: Entry) -> Entry:
        """Delete and wait for the disk; the entry holds the last state."""
        return await self.stage_delete(kind, last, old).done()


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
        return orjson.dumps(body)

    return encode
