"""What everyone but the informer sees of its objects."""

from __future__ import annotations

from builtins import list as List  # noqa: N812  the method of that name hides the type
from typing import Generic, TypeVar

from vacate.api.objectidentity import Unreadable
from vacate.cache.orderedmap import CacheKey
from vacate.cache.store import ObjectTable

T = TypeVar("T")


class Reader(Generic[T]):
    """What is known of a collection. Always a whole state: a relist shows only when it is complete."""

    def __init__(self, table: ObjectTable[T]) -> None:
        self._table = table

    @property
    def synced(self) -> bool:
        """Whether a whole listing has arrived."""
        return self._table.synced

    @property
    def resource_version(self) -> str:
        """The revision up to which the server's changes are in here; empty before the first sync."""
        return self._table.resource_version

    def __len__(self) -> int:
        return len(self._table.objects)

    def get(self, namespace: str, name: str) -> T | None:
        """One object; the namespace is empty for cluster-wide kinds."""
        return self._table.objects.get(CacheKey(namespace, name))

    def unreadable(self, namespace: str, name: str) -> Unreadable | None:
        """Why the object's newest state cannot be decoded; None where it can, or where there is no object.

        `get` has the last state that could be decoded, if there was one.
        """
        return self._table.unreadable.get(CacheKey(namespace, name))

    def list_unreadable(self) -> List[Unreadable]:
        """Every object whose newest state cannot be decoded, in key order."""
        found = self._table.unreadable
        return [found[key] for key in sorted(found)]

    def list(self, namespace: str = "") -> List[T]:
        """All objects, or those of one namespace, in key order."""
        if not namespace:
            return self._table.objects.values()
        found = self._table.namespaces.get(namespace)
        return found.values() if found else []

    def by_index(self, index: str, value: str) -> List[T]:
        """The objects that the index finds under the value, in key order."""
        found = self._table.indexed[index].get(value)
        return found.values() if found else []

    def index_values(self, index: str) -> List[str]:
        """Every value under which the index finds something, in order."""
        return sorted(self._table.indexed[index])
