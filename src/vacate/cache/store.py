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


Outcome = tuple[list[Change[T]], list[Unreadable]]
"""What a write changed, and of which objects a state turned out that cannot be read and was not known."""


class ObjectTable(Generic[T]):
    """The objects and their indexes. One writer; every method says what it changed.

    An index function that raises makes its object unreadable and leaves every other object as it is.
    """

    def __init__(self, indexes: Mapping[str, IndexFunction[T]]) -> None:
        self.functions = dict(indexes)
        self.objects: Bucket[T] = Bucket()  # every object
        self.namespaces: dict[str, Bucket[T]] = {}  # the same objects by namespace; none is empty
        self.indexed: dict[str, dict[str, Bucket[T]]] = {name: {} for name in indexes}  # likewise
        self.resource_version = ""  # every change of the server up to here is in the table
        self.synced = False  # whether a whole listing has arrived
        self.unreadable: dict[CacheKey, Unreadable] = {}  # whose newest state cannot be read

    def replace(
        self, items: Iterable[T], resource_version: str, unreadable: Iterable[Unreadable] = ()
    ) -> Outcome[T]:
        """Swap in a whole listing and say what that changed, deletions first, in key order.

        Of an object whose newest state cannot be read, the last one that could be stays.
        """
        fresh: dict[CacheKey, T] = {key_of(item): item for item in items}
        before, self.unreadable = self.unreadable, {}
        odd = {place_of(one.identity): one for one in unreadable}
        kept = {key for key, one in odd.items() if self._stays(key, one)}
        gone = [key for key in self.objects.ordered_keys() if key not in fresh and key not in kept]
        changes: list[Change[T]] = [(self._remove(key), None) for key in gone]
        for key in sorted(fresh):
            put, why = self._put(key, fresh[key])
            changes += put
            odd |= {key: why} if why is not None else {}
        self.unreadable = odd
        self.resource_version, self.synced = resource_version, True
        return changes, [odd[key] for key in sorted(odd) if not _same_state(before.get(key), odd[key])]

    def apply(self, obj: Any, *, deleted: bool) -> Outcome[T]:
        """Take in one event."""
        key = key_of(obj)
        if deleted:
            self.unreadable.pop(key, None)
            return ([] if self._remove(key) is None else [(obj, None)]), []
        changes, why = self._put(key, obj)
        return changes, self._mark(key, why)

    def apply_unreadable(self, one: Unreadable, *, deleted: bool) -> Outcome[T]:
        """Take in an event whose object cannot be read.

        The last state that could be read stays, as if the event were still on its way: controllers are
        made for caches that lag behind, and an object must not seem to be deleted because of a bad field.
        """
        key = place_of(one.identity)
        removed = self._remove(key) if deleted or not self._stays(key, one) else None
        changes: list[Change[T]] = [] if removed is None else [(removed, None)]
        return changes, self._mark(key, None if deleted else one)

    def _mark(self, key: CacheKey, why: Unreadable | None) -> list[Unreadable]:
        """Note whether the newest state can be read; returns what was not known yet."""
        before = self.unreadable.pop(key, None)
        if why is None:
            return []
        self.unreadable[key] = why
        return [] if _same_state(before, why) else [why]

    def _stays(self, key: CacheKey, one: Unreadable) -> bool:
        """Whether the state that is known belongs to the object that cannot be read now."""
        known = self.objects.get(key)
        return known is not None and not is_another(one, known)

    def _put(self, key: CacheKey, obj: T) -> tuple[list[Change[T]], Unreadable | None]:
        old = self.objects.get(key)
        was, now = None if old is None else identity_of(old), identity_of(obj)
        if was is not None and was.resource_version == now.resource_version and was.uid == now.uid:
            return [], None
        try:
            values = self._values(obj)
        except Exception as error:  # whatever the object leads to is the object's fault
            why = f"{now.namespace}/{now.name} cannot be indexed: {type(error).__name__}: {error}"
            one = Unreadable(now, why)
            removed = None if self._stays(key, one) else self._remove(key)
            return ([] if removed is None else [(removed, None)]), one
        if old is None or was is None:
            self._insert(key, obj, values)
            return [(None, obj)], None
        self._unindex(key, old)
        self._insert(key, obj, values)
        # A name that was given away and taken again is two objects, and nobody may mix them up.
        return ([(old, obj)] if was.uid == now.uid else [(old, None), (None, obj)]), None

    def _values(self, obj: T) -> list[tuple[str, list[str]]]:
        return [(name, list(function(obj))) for name, function in self.functions.items()]

    def _insert(self, key: CacheKey, obj: T, values: Iterable[tuple[str, list[str]]]) -> None:
        self.objects.put(key, obj)
        self.namespaces.setdefault(key.namespace, Bucket()).put(key, obj)
        for name, found in values:
            index = self.indexed[name]
            for value in found:
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


def _same_state(known: Unreadable | None, one: Unreadable) -> bool:
    return known is not None and known.identity == one.identity


def _take_out(buckets: dict[str, Bucket[T]], value: str, key: CacheKey) -> None:
    bucket = buckets.get(value)
    if bucket is None:
        return
    bucket.remove(key)
    if not len(bucket):
        del buckets[value]
