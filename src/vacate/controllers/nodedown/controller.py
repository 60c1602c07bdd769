"""Says on each pod whether its node reports, so that a partition is seen where users look: at the pod.

Kubernetes only marks such pods as not ready. There is one write for each pod when its node is lost, and one
when the node reports again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj
from vacate.api.types import Node, Pod
from vacate.cache.indexes import NODE, PLACED
from vacate.client.requests import STRATEGIC_PATCH
from vacate.controllers.nodedown.condition import needs_change, partition_condition
from vacate.errors import Conflict, NotFound
from vacate.kube.nodes import readiness
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome

QUEUE = "nodedown"
AT_ONCE = 8
"""So many pods of a node are written at the same time: a node has a hundred, and a rack that is lost more."""


def build(deps: Dependencies) -> Controller:
    """The controller, woken by nodes that are lost or report again, and by pods that say otherwise."""
    nodes = deps.informers.informer(NODES, Node)
    pods = deps.informers.informer(PODS, Pod, indexes=PLACED)
    controller = NodeDownConditions(deps)
    return Controller(
        QUEUE,
        controller,
        (Source(nodes, when=_lost_or_back), Source(pods, keys=controller.node_of)),
        deps,
        workers=2,
        refusals_on=nodes,
    )


class NodeDownConditions:
    """Reconciles a node with what its pods say about it."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._nodes = deps.informers.informer(NODES, Node).reader
        self._pods = deps.informers.informer(PODS, Pod).reader

    def node_of(self, pod: Pod) -> Iterable[Key]:
        """The node of a pod that does not say what is true of it, such as one that has come since."""
        node = self._nodes.get("", pod.spec.node_name) if pod.spec.node_name else None
        return (Key("", node.metadata.name),) if node is not None and needs_change(pod, node) else ()

    async def reconcile(self, key: Key) -> Outcome:
        """Write to each pod of one node that needs it."""
        node = self._nodes.get("", key.name)
        if node is None:
            return Done()
        pods = [pod for pod in self._pods.by_index(NODE, key.name) if needs_change(pod, node)]
        now = self._deps.clock.now()
        for first in range(0, len(pods), AT_ONCE):
            some = pods[first : first + AT_ONCE]
            await asyncio.gather(*(self._patch(pod, partition_condition(node, now)) for pod in some))
        return Done()

    async def _patch(self, pod: Pod, condition: Obj) -> None:
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
        try:
            await self._deps.client.patch(
                PODS, meta.name, patch, meta.namespace, patch_type=STRATEGIC_PATCH, subresource="status"
            )
        except (NotFound, Conflict):
            return  # gone, or another pod has its name


def _lost_or_back(old: Node | None, new: Node | None) -> bool:
    if old is None or new is None:
        return new is not None
    return (readiness(old) == "Unknown") != (readiness(new) == "Unknown")
