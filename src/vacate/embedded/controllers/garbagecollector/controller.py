"""The garbage collector. Its keys are uids: one for each object that may have something done to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import ObjectMeta, OwnerReference
from vacate.client.client import Client
from vacate.client.requests import MERGE_PATCH, STRATEGIC_PATCH
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.garbagecollector.actions import (
    ORPHAN,
    Action,
    Await,
    Delete,
    DropReferences,
    OwnerState,
    Release,
    RemoveFinalizer,
    finalizer_patch,
    garbage_action,
    owner_state,
    references_patch,
    terminating_action,
    unblock_patch,
)
from vacate.embedded.controllers.garbagecollector.graph import Item, OwnerGraph
from vacate.embedded.controllers.kinds import MetadataOnly, followed, informer_of, stored
from vacate.errors import NotFound
from vacate.kube.ownership import group_of
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome


def build(deps: Dependencies) -> Controller:
    """The collector, woken by every change of ownership and by every deletion."""
    collector = GarbageCollector(deps)
    sources = []
    for kind in followed(deps.gates):
        informer = informer_of(deps.informers, kind)
        informer.subscribe(collector.follow(kind))
        sources.append(Source(informer, keys=collector.touched, when=_ownership_changed))
    return Controller("garbage-collector", collector, sources, deps, workers=10, backoff=retry_backoff())


def _ownership_changed(old: Any, new: Any) -> bool:
    if old is None or new is None:
        return True
    before: ObjectMeta = old.metadata
    after: ObjectMeta = new.metadata
    return (
        before.uid != after.uid
        or before.owner_references != after.owner_references
        or before.finalizers != after.finalizers
        or before.deletion_timestamp != after.deletion_timestamp
    )


class GarbageCollector:
    """Reconciles one object with the state of its owners and dependents."""

    def __init__(self, deps: Dependencies) -> None:
        self._client = deps.client
        self._graph = OwnerGraph()
        self._owners = Owners(deps.client, self._graph, stored(deps.gates))
        self._touched: dict[str, None] = {}

    def follow(self, kind: Kind) -> Callable[[Any, Any], None]:
        """Keep the graph up to date with one kind."""

        def see(old: Any, new: Any) -> None:
            if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
                self._note(self._graph.remove(old.metadata.uid))
            if new is not None:
                self._note(self._graph.set(kind, new.metadata))

        return see

    def _note(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self._touched[uid] = None

    def touched(self, _: object) -> Iterable[Key]:
        """Everyone whom changes have touched since the last call."""
        touched, self._touched = self._touched, {}
        return [Key("", uid) for uid in touched]

    async def reconcile(self, key: Key) -> Outcome:
        """Bring one object in line; a Conflict means that it changed meanwhile, and is tried again."""
        item = self._graph.items.get(key.name)
        if item is None:
            return Done()
        dependents = self._graph.dependents_of(key.name)
        action = terminating_action(item.meta, dependents)
        if action is None:
            action = garbage_action(item.meta, await self._owners.states(item), dependents)
        await self._act(item, action)
        return Done()

    async def _act(self, item: Item, action: Action) -> None:
        match action:
            case DropReferences(uids):
                await self._patch(item, references_patch(item.meta, uids))
            case RemoveFinalizer(name):
                await self._patch(item, finalizer_patch(item.meta, name), MERGE_PATCH)
            case Release(dependents):
                await self._release(item, dependents)
            case Delete(policy, unblock):
                version = item.meta.resource_version
                if unblock:
                    version = await self._patch(item, unblock_patch(item.meta))
                await self._delete(item, policy, version)
            case Await() | None:
                pass  # the dependents were touched by the same change that brought this one here

    async def _release(self, owner: Item, dependents: Iterable[str]) -> None:
        for uid in dependents:
            found = self._graph.items.get(uid)
            if found is not None:
                await self._patch(found, references_patch(found.meta, [owner.meta.uid]))
        await self._patch(owner, finalizer_patch(owner.meta, ORPHAN), MERGE_PATCH)

    async def _delete(self, item: Item, policy: str, version: str) -> None:
        meta = item.meta
        try:
            await self._client.delete(
                item.kind,
                meta.name,
                meta.namespace,
                DeleteOptions(uid=meta.uid, resource_version=version, propagation_policy=policy),
            )
        except NotFound:
            return

    async def _patch(self, item: Item, patch: Obj, patch_type: str = STRATEGIC_PATCH) -> str:
        """Returns the object's new resourceVersion, empty where it is gone."""
        meta = item.meta
        try:
            written = await self._client.patch(
                item.kind, meta.name, patch, meta.namespace, patch_type=patch_type
            )
        except NotFound:
            return ""
        return str(written["metadata"]["resourceVersion"])


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
