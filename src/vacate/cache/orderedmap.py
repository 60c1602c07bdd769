"""A small ordered map: constant-time writes, listings in key order."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class CacheKey(NamedTuple):
    """Where an object lives; the order of keys is the order of listings."""

    namespace: str
    name: str


class Bucket(Generic[T]):
    """Objects by key. The order is worked out at the first listing and kept up from then on."""

    __slots__ = ("_objects", "_order")

    def __init__(self) -> None:
        self._objects: dict[CacheKey, T] = {}
        self._order: list[CacheKey] | None = None  # all keys, sorted; None until someone lists

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: CacheKey) -> T | None:
        """The object, if it is here."""
        return self._objects.get(key)

    def put(self, key: CacheKey, obj: T) -> None:
        """Add or replace."""
        if self._order is not None and key not in self._objects:
            insort(self._order, key)
        self._objects[key] = obj

    def remove(self, key: CacheKey) -> T | None:
        """Take out and return what was there."""
        found = self._objects.pop(key, None)
        if found is not None and self._order is not None:
            del self._order[bisect_left(self._order, key)]
        return found

    def ordered_keys(self) -> list[CacheKey]:
        """All keys in order."""
        return list(self._ordered())

    def values(self) -> list[T]:
        """All objects in key order."""
        objects = self._objects
        return [objects[key] for key in self._ordered()]

    def _ordered(self) -> list[CacheKey]:
        if self._order is None:
            self._order = sorted(self._objects)
        return self._order
