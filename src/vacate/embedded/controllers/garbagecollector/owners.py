"""Whether owners still exist: the graph answers what it knows, the server answers the rest."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.kinds import Kind
from vacate.api.types import ObjectMeta, OwnerReference
from vacate.client.client import Client
from vacate.embedded.controllers.garbagecollector.actions import OwnerState, owner_state
from vacate.embedded.controllers.garbagecollector.graph import Item, OwnerGraph
from vacate.embedded.controllers.kinds import MetadataOnly
from vacate.errors import NotFound
from vacate.kube.ownership import group_of

_REMEMBERED = 500


class Owners:
    """Asks about owners. A cache that does not show an owner proves nothing; a server that has none does."""

    def __init__(self, client: Client, graph: OwnerGraph, kinds: Sequence[Kind]) -> None:
        self._client = client
        self._graph = graph
        self._kinds = kinds
        # A uid never comes back, so an absence may be remembered; oldest first.
        self._absent: dict[tuple[str, str, str], None] = {}

    async def states(self, item: Item) -> list[tuple[OwnerReference, OwnerState]]:
        """Each reference of the object with the state of its owner."""
        return [(ref, await self._state(item, ref)) for ref in item.meta.owner_references]

    async def _state(self, item: Item, ref: OwnerReference) -> OwnerState:
        known = self._graph.owner_of(item, ref)
        if known is not None:
            return owner_state(ref, known.meta)
        kind = self._kind_of(ref)
        if kind is None or (kind.namespaced and not item.kind.namespaced):
            return OwnerState.PRESENT  # nobody here can tell; such an object is left alone
        return await self._ask(item, ref, kind)

    async def _ask(self, item: Item, ref: OwnerReference, kind: Kind) -> OwnerState:
        namespace = item.meta.namespace if kind.namespaced else ""
        memory = (namespace, ref.name, ref.uid)
        if memory in self._absent:
            return OwnerState.ABSENT
        state = owner_state(ref, await self._get(kind, ref.name, namespace))
        if state is OwnerState.ABSENT:
            self._remember(memory)
        return state

    async def _get(self, kind: Kind, name: str, namespace: str) -> ObjectMeta | None:
        try:
            return (await self._client.get(kind, name, namespace, into=MetadataOnly)).metadata
        except NotFound:
            return None

    def _remember(self, memory: tuple[str, str, str]) -> None:
        self._absent[memory] = None
        if len(self._absent) > _REMEMBERED:
            del self._absent[next(iter(self._absent))]

    def _kind_of(self, ref: OwnerReference) -> Kind | None:
        group = group_of(ref.api_version)
        return next((one for one in self._kinds if one.kind == ref.kind and one.group == group), None)
