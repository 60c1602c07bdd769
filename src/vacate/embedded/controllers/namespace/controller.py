"""The namespace controller: deletes the content of a terminating namespace, pods first, then lets it go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vacate.api.kinds import NAMESPACES, PODS, Kind
from vacate.api.options import DeleteOptions
from vacate.api.types import Namespace, ObjectMeta, Pod
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.kinds import MetadataOnly, followed, informer_of, stored
from vacate.embedded.controllers.namespace.content import (
    FINALIZER,
    Content,
    content_conditions,
    must_be_emptied,
)
from vacate.errors import ApiError, NotFound
from vacate.kube.patches import condition_differences, guarded_by_uid
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by namespaces and by whatever disappears from one that is terminating."""
    controller = NamespaceController(deps)
    namespaces = deps.informers.informer(NAMESPACES, Namespace)
    content = [informer_of(deps.informers, kind) for kind in followed(deps.gates) if kind.namespaced]
    gone = [Source(one, keys=controller.namespace_of_removed, when=_is_gone) for one in content]
    return Controller(
        "namespace", controller, [Source(namespaces), *gone], deps, workers=2, backoff=retry_backoff()
    )


def _is_gone(_: Any, new: Any) -> bool:
    return new is None


class NamespaceController:
    """Reconciles terminating namespaces with the emptiness that they need to end."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._client = deps.client
        self._content = tuple(kind for kind in stored(deps.gates) if kind.namespaced)
        self._namespaces = deps.informers.informer(NAMESPACES, Namespace).reader
        self._pods = deps.informers.informer(PODS, Pod).reader

    def namespace_of_removed(self, obj: Any) -> Iterable[Key]:
        """The namespace of an object, if it waits to be emptied."""
        name: str = obj.metadata.namespace
        namespace = self._namespaces.get("", name)
        return (Key("", name),) if namespace is not None and must_be_emptied(namespace) else ()

    async def reconcile(self, key: Key) -> Outcome:
        """Delete what is there; what takes its time wakes this again when it goes."""
        namespace = self._namespaces.get("", key.name)
        if namespace is None or not must_be_emptied(namespace):
            return Done()
        content = Content()
        await self._empty_of_pods(key.name, content)
        if not content.counts:
            for kind in self._content:
                await self._empty(kind, key.name, content)
        await self._write_conditions(namespace, content)
        if content.failures:
            raise ApiError("; ".join(sorted(content.failures)))
        if content.empty:
            await self._let_go(namespace)
        return Done()

    async def _empty_of_pods(self, namespace: str, content: Content) -> None:
        """Pods go first and with grace: what they need stays as long as they do."""
        pods = self._pods.list(namespace)
        if any(not pod.terminating for pod in pods):
            await self._empty(PODS, namespace, content)
        else:
            content.count(PODS, [pod.metadata for pod in pods])

    async def _empty(self, kind: Kind, namespace: str, content: Content) -> None:
        """Ask the server, not the cache, for what is left."""
        try:
            left = await self._list(kind, namespace)
            if any(one.deletion_timestamp is None for one in left):
                await self._client.delete_collection(
                    kind, namespace, DeleteOptions(propagation_policy="Background")
                )
                left = await self._list(kind, namespace)
        except ApiError as error:
            content.failures.append(str(error))
            return
        content.count(kind, left)

    async def _list(self, kind: Kind, namespace: str) -> list[ObjectMeta]:
        listing = await self._client.list(kind, namespace, into=MetadataOnly)
        unreadable = [one.identity for one in listing.unreadable]  # still there, whatever is wrong with them
        return [
            *(one.metadata for one in listing.items),
            *(ObjectMeta(namespace=one.namespace, name=one.name, uid=one.uid) for one in unreadable),
        ]

    async def _write_conditions(self, namespace: Namespace, content: Content) -> None:
        before = namespace.status.conditions
        after = content_conditions(before, content, self._deps.clock.now())
        if after == before or content.empty:
            return
        meta = namespace.metadata
        changed = condition_differences(before, after)
        patch = guarded_by_uid(meta.uid, {"status": {"conditions": changed}})
        try:
            await self._client.patch_status(NAMESPACES, meta.name, patch)
        except NotFound:
            return

    async def _let_go(self, namespace: Namespace) -> None:
        """The finalizer lives in the spec and has an address of its own, which takes only whole objects."""
        try:
            whole = await self._client.get(NAMESPACES, namespace.metadata.name)
            if whole["metadata"]["uid"] != namespace.metadata.uid:
                return
            kept = [one for one in whole["spec"].get("finalizers", []) if one != FINALIZER]
            whole["spec"]["finalizers"] = kept
            await self._client.update(NAMESPACES, whole, subresource="finalize")
        except NotFound:
            return
