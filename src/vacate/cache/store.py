"""The objects of one informer with their indexes: the side that is written.

Only the informer holds a Table; everyone else reads it through a Reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from vacate.api.objectidentity import Identity, Unreadable, identity_of
from vacate.cache.orderedmap import Bucket, CacheKey

T = TypeVar("T")

IndexFunction = Callable[[T], Iterable[str]]
"""The values under which an index finds an object."""

Change = tuple[T | None, T | None]
"""Before and after; None where there is no object."""


class Table(Generic[T]):
    """The objects and their indexes. One writer; every method says what it changed."""

    def __init__(self, indexes: Mapping[str, IndexFunction[T]]) -> None:
        self.functions = dict(indexes)
        self.objects: Bucket[T] = Bucket()  # every object
        self.namespaces: dict[str, Bucket[T]] = {}  # the same objects by namespace; none is empty
        self.indexed: dict[str, dict[str, Bucket[T]]] = {name: {} for name in indexes}  # likewise
        self.resource_version = ""  # every change of the server up to here is in the table
        self.synced = False  # whether a whole listing has arrived
        self.unreadable: dict[CacheKey, Unreadable] = {}  # whose newest state cannot be decoded

    def replace(self, items: Iterable[T], resource_version: str) -> list[Change[T]]:
        """Swap in a whole listing and say what that changed, deletions first, in key order."""
        fresh: dict[CacheKey, T] = {key_of(item): item for item in items}
        gone = [key for key in self.objects.ordered_keys() if key not in fresh]
        changes: list[Change[T]] = [(self._remove(key), None) for key in gone]
        for key in sorted(fresh):
            changes += self._put(key, fresh[key])
        self.resource_version, self.synced = resource_version, True
        return changes

    def apply(self, obj: Any, *, deleted: bool) -> list[Change[T]]:
        """Take in one event."""
        key = key_of(obj)
        self.unreadable.pop(key, None)
        if not deleted:
            return self._put(key, obj)
        return [] if self._remove(key) is None else [(obj, None)]

    def apply_unreadable(self, one: Unreadable, *, deleted: bool) -> list[Change[T]]:
        """Take in an event whose object cannot be decoded.

        The last state that could be decoded stays, as if the event were still on its way: controllers are
        made for caches that lag behind, and an object must not seem to be deleted because of a bad field.
        """
        key = place_of(one.identity)
        if deleted:
            self.unreadable.pop(key, None)
        else:
            self.unreadable[key] = one
        known = self.objects.get(key)
        if known is None or not (deleted or is_another(one, known)):
            return []
        return [(self._remove(key), None)]

    def _put(self, key: CacheKey, obj: T) -> list[Change[T]]:
        old = self.objects.get(key)
        if old is None:
            self._insert(key, obj)
            return [(None, obj)]
        was, now = identity_of(old), identity_of(obj)
        if was.resource_version == now.resource_version and was.uid == now.uid:
            return []
        self._unindex(key, old)
        self._insert(key, obj)
        # A name that was given away and taken again is two objects, and nobody may mix them up.
        return [(old, obj)] if was.uid == now.uid else [(old, None), (None, obj)]

    def _insert(self, key: CacheKey, obj: T) -> None:
        self.objects.put(key, obj)
        self.namespaces.setdefault(key.namespace, Bucket()).put(key, obj)
        for name, function in self.functions.items():
            index = self.indexed[name]
            for value in function(obj):
                index.setdefault(value, Bucket()).put(key, obj)

    def _remove(self, key: CacheKey) -> T | None:
        old = self.objects.remove(key)
        if old is not None:
            self._unindex(key, old)
            _take_out(self.namespaces, key.namespace, key)
        return old

    def _unindex(self, key: CacheKey, obj: T) -> None:
        for name, function in self.functions.items():
            for value in function(obj):
                _take_out(self.indexed[name], value, key)


def key_of(obj: object) -> CacheKey:
    """The key of a dict or projection."""
    identity = identity_of(obj)
    return CacheKey(identity.namespace, identity.name)


def place_of(identity: Identity) -> CacheKey:
    """The key of an object of that identity."""
    return CacheKey(identity.namespace, identity.name)


def is_another(one: Unreadable, known: object) -> bool:
    """Whether the known object is gone, and this one has taken its name."""
    return bool(one.identity.uid) and one.identity.uid != identity_of(known).uid


def _take_out(buckets: dict[str, Bucket[T]], value: str, key: CacheKey) -> None:
    bucket = buckets.get(value)
    if bucket is None:
        return
    bucket.remove(key)
    if not len(bucket):
        del buckets[value]
