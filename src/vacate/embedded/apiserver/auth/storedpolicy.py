"""Roles and bindings out of the store, and a number that changes when any of them does."""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, ROLEBINDINGS, ROLES, Kind
from vacate.api.objects import Obj
from vacate.embedded.apiserver.response.stored import decode
from vacate.embedded.store.store import Store

_KINDS = (ROLES, CLUSTERROLES, ROLEBINDINGS, CLUSTERROLEBINDINGS)


class StoredRbac:
    """The cluster's own policy, as committed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def version(self) -> int:
        """The revision of the newest change of a role or binding."""
        return max(self._store.touched(kind.resource) for kind in _KINDS)

    def objects(self, kind: Kind) -> Iterable[Obj]:
        """All objects of one of the four kinds, of all namespaces, in key order."""
        return [decode(kind, entry) for entry in self._store.list(kind.resource).entries]
