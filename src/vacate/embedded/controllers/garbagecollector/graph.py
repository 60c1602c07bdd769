"""Who belongs to whom: all objects by uid, and the dependents of each owner."""

from __future__ import annotations

from dataclasses import dataclass, field

from vacate.api.kinds import Kind
from vacate.api.types import ObjectMeta, OwnerReference
from vacate.embedded.controllers.garbagecollector.actions import is_deleting_dependents, is_orphaning
from vacate.kube.ownership import group_of


@dataclass(frozen=True, slots=True)
class Item:
    """One object of the graph."""

    kind: Kind
    meta: ObjectMeta


@dataclass(slots=True)
class OwnerGraph:
    """Kept up to date one change at a time; each change names the uids that must be looked at."""

    items: dict[str, Item] = field(default_factory=dict)
    # Dependents by their owner's uid, also of owners that are not known.
    dependents: dict[str, dict[str, None]] = field(default_factory=dict)

    def set(self, kind: Kind, meta: ObjectMeta) -> list[str]:
        """Take over the newest state of an object."""
        before = self.items.get(meta.uid)
        self.items[meta.uid] = Item(kind, meta)
        if before is None or before.meta.owner_references != meta.owner_references:
            self._unlink(before)
            for ref in meta.owner_references:
                self.dependents.setdefault(ref.uid, {})[meta.uid] = None
        return self._touched(before, meta)

    def remove(self, uid: str) -> list[str]:
        """The object is gone: its dependents lose an owner, its owners may be waiting for this."""
        gone = self.items.pop(uid, None)
        if gone is None:
            return []
        self._unlink(gone)
        return [*self.dependents.get(uid, ()), *self._waiting_owners(gone.meta)]

    def dependents_of(self, uid: str) -> list[ObjectMeta]:
        """The dependents that are known."""
        return [self.items[one].meta for one in self.dependents.get(uid, ()) if one in self.items]

    def owner_of(self, item: Item, ref: OwnerReference) -> Item | None:
        """The owner that a reference means, if it is known and really is what the reference says."""
        found = self.items.get(ref.uid)
        if found is None or not _is_meant(item, ref, found):
            return None
        return found

    def _unlink(self, item: Item | None) -> None:
        for ref in item.meta.owner_references if item else ():
            siblings = self.dependents.get(ref.uid, {})
            siblings.pop(item.meta.uid, None) if item else None
            if not siblings:
                self.dependents.pop(ref.uid, None)

    def _touched(self, before: Item | None, meta: ObjectMeta) -> list[str]:
        touched = []
        changed = before is None or before.meta.owner_references != meta.owner_references
        if changed and meta.owner_references:
            touched.append(meta.uid)
        if changed and before is not None:
            touched += self._waiting_owners(before.meta)
        if is_deleting_dependents(meta) or is_orphaning(meta):
            touched.append(meta.uid)
            if before is None or before.meta.deletion_timestamp is None:
                touched += self.dependents.get(meta.uid, ())
        return touched

    def _waiting_owners(self, meta: ObjectMeta) -> list[str]:
        owners = [self.items.get(ref.uid) for ref in meta.owner_references]
        return [one.meta.uid for one in owners if one is not None and is_deleting_dependents(one.meta)]


def _is_meant(item: Item, ref: OwnerReference, found: Item) -> bool:
    same_kind = found.kind.kind == ref.kind and found.kind.group == group_of(ref.api_version)
    in_reach = not found.kind.namespaced or found.meta.namespace == item.meta.namespace
    return same_kind and in_reach and found.meta.name == ref.name
