"""The committed objects, in the order of etcd's keys.

Each namespace of a resource has its own dict and sorted list of names, so that a listing touches nothing
else. Namespaces are ordered as `namespace/`: in etcd's keys a `-` sorts before the `/` that ends a namespace.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vacate.embedded.store.types import Change, Entry, Key

Differences = Mapping[str, Mapping[str, Entry | None]]
"""Namespace -> name -> what is there instead; None where there is nothing."""

_NONE: Mapping[str, Entry | None] = {}


@dataclass(slots=True)
class NamespaceState:
    """The objects of one resource in one namespace."""

    entries: dict[str, Entry] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)  # the keys of `entries`, sorted

    def put(self, name: str, entry: Entry) -> None:
        """Add or replace an object."""
        if name not in self.entries:
            insort(self.names, name)
        self.entries[name] = entry

    def remove(self, name: str) -> None:
        """Take an object out."""
        del self.entries[name]
        del self.names[bisect_left(self.names, name)]

    def window(
        self, differences: Mapping[str, Entry | None], after: str, limit: int
    ) -> tuple[list[Entry], int]:
        """The first `limit` entries after a name (0: all), differences laid over, and how many follow."""
        entries, names = self.entries, self.names
        start = bisect_right(names, after) if after else 0
        if not differences:
            stop = start + limit if limit else len(names)
            chosen = names if start == 0 and stop >= len(names) else names[start:stop]
            return list(map(entries.__getitem__, chosen)), len(names) - start - len(chosen)
        return self._mixed_window(differences, after, start, limit)

    def _mixed_window(
        self, differences: Mapping[str, Entry | None], after: str, start: int, limit: int
    ) -> tuple[list[Entry], int]:
        entries, names = self.entries, self.names
        beyond = {name: entry for name, entry in differences.items() if name > after}
        added = [name for name, entry in beyond.items() if entry is not None and name not in entries]
        missing = sum(1 for name, entry in beyond.items() if entry is None and name in entries)
        total = len(names) - start + len(added) - missing
        # As many names as can be needed even if all the missing ones are among them.
        stop = start + limit + missing if limit else len(names)
        merged = sorted(names[start:stop] + added)
        found = (beyond[name] if name in beyond else entries[name] for name in merged)
        chosen = [entry for entry in found if entry is not None]
        if limit:
            del chosen[limit:]
        return chosen, total - len(chosen)


_EMPTY_SPACE = NamespaceState()


class ResourceState:
    """The objects of one resource."""

    __slots__ = ("_order", "spaces", "touched")

    def __init__(self) -> None:
        self.touched = 0  # revision of the newest change
        self.spaces: dict[str, NamespaceState] = {}
        self._order: list[str] = []  # `namespace/`, sorted

    def put(self, entry: Entry) -> None:
        """Add or replace an object."""
        namespace = entry.key.namespace
        space = self.spaces.get(namespace)
        if space is None:
            space = self.spaces[namespace] = NamespaceState()
            insort(self._order, namespace + "/")
        space.put(entry.key.name, entry)

    def remove(self, key: Key) -> None:
        """Take an object out, and its namespace if that was the last one."""
        space = self.spaces[key.namespace]
        space.remove(key.name)
        if not space.entries:
            del self.spaces[key.namespace]
            del self._order[bisect_left(self._order, key.namespace + "/")]

    def namespaces(self, differences: Differences) -> list[str]:
        """The namespaces in order, with those that only the differences have."""
        more = [f"{namespace}/" for namespace in differences if namespace not in self.spaces]
        ordered = sorted(self._order + more) if more else self._order
        return [namespace[:-1] for namespace in ordered]


class State:
    """All objects by resource, namespace and name."""

    def __init__(self) -> None:
        self._shelves: dict[str, ResourceState] = {}

    def get(self, key: Key) -> Entry | None:
        """The object of that key."""
        shelf = self._shelves.get(key[0])
        space = shelf.spaces.get(key[1]) if shelf else None
        return space.entries.get(key[2]) if space else None

    def apply(self, change: Change) -> None:
        """Take one step of the log."""
        shelf = self._shelves.get(change.key.resource)
        if shelf is None:
            shelf = self._shelves[change.key.resource] = ResourceState()
        shelf.touched = change.revision
        if change.deleted:
            shelf.remove(change.key)
        else:
            shelf.put(change.after)

    def touched(self, resource: str) -> int:
        """The revision of the newest change of a resource, 0 if there was none."""
        shelf = self._shelves.get(resource)
        return shelf.touched if shelf else 0

    def count(self, resource: str, namespace: str = "") -> int:
        """How many objects there are."""
        shelf = self._shelves.get(resource)
        if shelf is None:
            return 0
        spaces = shelf.spaces.values()
        if namespace:
            return len(shelf.spaces.get(namespace, _EMPTY_SPACE).names)
        return sum(len(space.names) for space in spaces)

    def entries(self) -> Iterator[Entry]:
        """All objects, in no particular order."""
        spaces = (space for shelf in self._shelves.values() for space in shelf.spaces.values())
        return (entry for space in spaces for entry in space.entries.values())

    def resources(self) -> list[str]:
        """The resources that have objects, sorted."""
        return sorted(resource for resource, shelf in self._shelves.items() if shelf.spaces)

    def window(
        self,
        resource: str,
        namespace: str,
        differences: Differences,
        after: tuple[str, str] | None,
        limit: int,
    ) -> tuple[list[Entry], int]:
        """The first `limit` entries after a key (0: all), with differences laid over, and how many follow."""
        shelf = self._shelves.get(resource) or ResourceState()
        chosen: list[Entry] = []
        remaining = 0
        for space_name, after_name in _starts(shelf, namespace, differences, after):
            space = shelf.spaces.get(space_name, _EMPTY_SPACE)
            changed = differences.get(space_name, _NONE)
            if limit and len(chosen) >= limit:
                remaining += _count(space, changed)
                continue
            entries, more = space.window(changed, after_name, limit - len(chosen) if limit else 0)
            chosen += entries
            remaining += more
        return chosen, remaining


def _starts(
    shelf: ResourceState, namespace: str, differences: Differences, after: tuple[str, str] | None
) -> Iterator[tuple[str, str]]:
    """The namespaces to visit, each with the name after which to begin."""
    names = [namespace] if namespace else shelf.namespaces(differences)
    if after is None:
        yield from ((name, "") for name in names)
        return
    after_space = after[0] + "/"
    for name in names:
        if name == after[0]:
            yield name, after[1]
        elif name + "/" > after_space:
            yield name, ""


def _count(space: NamespaceState, differences: Mapping[str, Entry | None]) -> int:
    added = sum(1 for name, entry in differences.items() if entry is not None and name not in space.entries)
    missing = sum(1 for name, entry in differences.items() if entry is None and name in space.entries)
    return len(space.names) + added - missing
