"""Says on each Node that is not ready whether it may be deleted without a confirmation.

Where the whole cluster is guarded, an admission policy asks for one before a Node that is not ready is
deleted, as pod GC then removes its pods, and what must run once may run twice. A policy sees no pods. So the
manager looks: a Node with no pod of a StatefulSet and no exclusive volume gets an annotation, which only the
manager may set. Without it the policy asks, also while no manager runs.

That a node has none is asked of the server itself: a cache may lag.
"""

from __future__ import annotations

from collections.abc import Iterable

from vacate.admission.nodedeletion import runs_once
from vacate.api.kinds import NODES, PODS
from vacate.api.options import ListOptions
from vacate.api.types import Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from vacate.cache.indexes import NODE, PLACED
from vacate.client.codec import codec_for
from vacate.controllers.exclusivevolumes.caches import VolumeCaches, attached_to, class_matters, is_unreadable
from vacate.errors import Conflict, NotFound, UnreadableObject
from vacate.kube.nodes import SAFE_TO_DELETE, outage
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome

QUEUE = "nodedeletion"
GATE = "NodeDeletionMarks"


def build(deps: Dependencies) -> Controller:
    """The controller, woken by nodes, their pods, and volumes that may be exclusive."""
    view = VolumeCaches(deps)
    pods = deps.informers.informer(PODS, Pod, indexes=PLACED)
    marks = DeletionMarks(deps, view)
    return Controller(
        QUEUE,
        marks,
        (
            Source(view.nodes, when=_node_matters),
            Source(pods, keys=marks.node_of, when=_pod_matters),
            Source(view.volumes, keys=marks.nodes_of),
            Source(view.claims, keys=marks.nodes_of_claim),
            Source(view.classes, keys=marks.all_nodes, when=class_matters),
        ),
        deps,
        refusals_on=view.nodes,
    )


class DeletionMarks:
    """Reconciles a node with what it says about its deletion."""

    def __init__(self, deps: Dependencies, view: VolumeCaches) -> None:
        self._deps = deps
        self._view = view
        self._nodes = view.nodes.reader
        self._pods = view.pods.reader

    def node_of(self, pod: Pod) -> Iterable[Key]:
        """The node of a pod, while it is not ready."""
        return self._not_ready([pod.spec.node_name])

    def nodes_of(self, volume: PersistentVolume) -> Iterable[Key]:
        """The nodes that may have the volume or whose pods use it, as far as they are not ready."""
        if is_unreadable(volume):
            return self._all_not_ready()
        listing = self._view.listing(volume)
        users = [pod.spec.node_name for pod in self._view.users(volume)]
        return self._not_ready([*attached_to(volume), *listing, *users])

    def nodes_of_claim(self, claim: PersistentVolumeClaim) -> Iterable[Key]:
        """The nodes whose pods use the claim: as long as it has no volume, it may get an exclusive one."""
        meta = claim.metadata
        return self._not_ready(one.spec.node_name for one in self._view.claimants(meta.namespace, meta.name))

    def all_nodes(self, _class: StorageClass) -> Iterable[Key]:
        """Every node that is not ready."""
        return self._all_not_ready()

    async def reconcile(self, key: Key) -> Outcome:
        """Write what is true of one node, or take back what is not."""
        node = self._nodes.get("", key.name)
        if node is None:
            return Done()
        since = outage(node)
        safe = bool(since) and not self._view.keeps_volumes(node)
        safe = safe and not any(map(self._runs_once, self._pods.by_index(NODE, key.name)))
        marked = node.metadata.annotations.get(SAFE_TO_DELETE)
        if safe and marked != since:
            safe = await self._confirmed_by_server(key.name)
        wanted = since if safe else None
        if wanted != marked:
            await self._patch(node, wanted)
        return Done()

    def _runs_once(self, pod: Pod) -> bool:
        return runs_once(pod, self._view.exclusive_volumes(pod))

    async def _confirmed_by_server(self, node: str) -> bool:
        """Whether the server has no such pod there. One that cannot be read, or its claim, may be one."""
        options = ListOptions(field_selector=f"spec.nodeName={node}")
        for whole in (await self._deps.client.list(PODS, options=options)).items:
            try:
                pod = codec_for(Pod).convert(whole)
            except UnreadableObject:
                return False
            bound = [self._view.bound_volume(pod.metadata.namespace, claim) for claim in pod.claims]
            if self._runs_once(pod) or (None in bound and not pod.terminal):
                return False
        return True

    async def _patch(self, node: Node, since: str | None) -> None:
        meta = {"uid": node.metadata.uid, "annotations": {SAFE_TO_DELETE: since}}
        try:
            await self._deps.client.patch(NODES, node.metadata.name, {"metadata": meta})
        except (NotFound, Conflict):
            return  # gone, or another Node has its name

    def _all_not_ready(self) -> list[Key]:
        return self._not_ready(node.metadata.name for node in self._nodes.list())

    def _not_ready(self, names: Iterable[str]) -> list[Key]:
        found = (self._nodes.get("", name) for name in names if name)
        return [Key("", one.metadata.name) for one in found if one is not None and outage(one)]


def _node_matters(old: Node | None, new: Node | None) -> bool:
    return old is None or new is None or _stated(old) != _stated(new)


def _stated(node: Node) -> tuple[object, ...]:
    return outage(node), node.metadata.annotations.get(SAFE_TO_DELETE), node.status.volumes_in_use


def _pod_matters(old: Pod | None, new: Pod | None) -> bool:
    return old is None or new is None or _placed(old) != _placed(new)


def _placed(pod: Pod) -> tuple[object, ...]:
    return pod.spec.node_name, pod.terminal, pod.metadata.controller
