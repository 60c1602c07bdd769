"""Which watchers a change concerns: an index, so that a change costs only those who care."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vacate.embedded.store.log import FIRST_REVISION
from vacate.embedded.store.types import Change, Entry, Scope
from vacate.embedded.store.watch import Watch

NODE_FIELD = "spec.nodeName"

# Dicts as ordered sets: watchers hear of a change in the order in which they came.
_Watchers = dict[Watch, None]


def node_of(entry: Entry | None) -> str:
    """The node that an object is bound to; empty for none."""
    return entry.attributes.fields.get(NODE_FIELD, "") if entry is not None else ""


def in_scope(scope: Scope, change: Change) -> bool:
    """Whether a watcher of this scope gets the change: the object enters, stays in or leaves the scope."""
    resource, namespace, name = change.key
    return (
        scope.resource in ("", resource)
        and scope.namespace in ("", namespace)
        and scope.name in ("", name)
        and (not scope.node or scope.node in (node_of(change.after), node_of(change.before)))
    )


@dataclass(slots=True)
class _Interest:
    """The watchers of one resource, each in one place: the narrowest that its scope allows."""

    names: dict[str, _Watchers] = field(default_factory=dict)
    nodes: dict[str, _Watchers] = field(default_factory=dict)
    namespaces: dict[str, _Watchers] = field(default_factory=dict)  # under "" those that watch all

    def place(self, scope: Scope) -> tuple[dict[str, _Watchers], str]:
        """The index and the key under which a scope is found."""
        if scope.name:
            return self.names, scope.name
        if scope.node:
            return self.nodes, scope.node
        return self.namespaces, scope.namespace

    def candidates(self, change: Change) -> Iterator[_Watchers]:
        """Groups of watchers that may care; no watcher is in two of them."""
        _, namespace, name = change.key
        if self.names and name in self.names:
            yield self.names[name]
        if self.nodes:
            before, after = node_of(change.before), node_of(change.after)
            yield self.nodes.get(after, {})
            if before != after:
                yield self.nodes.get(before, {})
        if self.namespaces:
            yield self.namespaces.get("", {})
            if namespace:
                yield self.namespaces.get(namespace, {})


class Fanout:
    """All watchers, and the revision up to which changes have been delivered to them."""

    def __init__(self, revision: int = FIRST_REVISION) -> None:
        self.revision = revision
        self._interests: dict[str, _Interest] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, watch: Watch) -> None:
        """Tell this watcher from now on."""
        interest = self._interests.setdefault(watch.scope.resource, _Interest())
        index, key = interest.place(watch.scope)
        index.setdefault(key, {})[watch] = None
        self._count += 1

    def remove(self, watch: Watch) -> None:
        """Tell this watcher no more."""
        interest = self._interests[watch.scope.resource]
        index, key = interest.place(watch.scope)
        del index[key][watch]
        self._count -= 1
        if not index[key]:
            del index[key]

    def publish(self, change: Change) -> None:
        """Hand a change to those whom it concerns. The revision is moved afterwards, by the batch."""
        overrun: list[Watch] = []
        for resource in (change.key.resource, ""):
            interest = self._interests.get(resource)
            if interest is None:
                continue
            for watchers in interest.candidates(change):
                overrun += [w for w in watchers if in_scope(w.scope, change) and not w.push(change)]
        for watch in overrun:
            self.remove(watch)

    def finish(self) -> None:
        """End all watches; what they have buffered can still be taken."""
        for interest in self._interests.values():
            for index in (interest.names, interest.nodes, interest.namespaces):
                for watchers in index.values():
                    for watch in watchers:
                        watch.finish(self.revision)
        self._interests.clear()
        self._count = 0
