"""Says on each pod whether its node reports, so that a partition is seen where users look: at the pod.

Kubernetes only marks such pods as not ready. There is one write for each pod when its node is lost, and one
when the node reports again.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterable

from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types import Node, Pod, condition
from vacate.cache.indexes import NODE, PLACED
from vacate.errors import Conflict, NotFound
from vacate.kube.nodes import NODE_DOWN, readiness
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
        """Write to each pod of one node that needs it.

        The API server is asked for the node. For a moment there may be two managers, one of which knows an
        older state of it: each would undo what the other has just written, as fast as both can write.
        """
        if (known := self._nodes.get("", key.name)) is None or not self._wrong(known):
            return Done()
        try:
            node = await self._deps.client.get(NODES, key.name, into=Node)
        except NotFound:
            return Done()
        now = self._deps.clock.now()
        pods = self._wrong(node)
        for first in range(0, len(pods), AT_ONCE):
            some = pods[first : first + AT_ONCE]
            await asyncio.gather(*(self._patch(pod, partition_condition(node, now)) for pod in some))
        return Done()

    def _wrong(self, node: Node) -> list[Pod]:
        return [pod for pod in self._pods.by_index(NODE, node.metadata.name) if needs_change(pod, node)]

    async def _patch(self, pod: Pod, condition: Obj) -> None:
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
        try:
            await self._deps.client.patch_status(PODS, meta.name, patch, meta.namespace)
        except (NotFound, Conflict):
            return  # gone, or another pod has its name


def _lost_or_back(old: Node | None, new: Node | None) -> bool:
    if old is None or new is None:
        return new is not None
    return (readiness(old) == "Unknown") != (readiness(new) == "Unknown")


PARTITIONED, REPORTING = "NodePartitioned", "NodeReporting"


def needs_change(pod: Pod, node: Node) -> bool:
    """Whether the pod does not say what is true of its node; one that has terminated says nothing."""
    known = condition(pod.status.conditions, NODE_DOWN)
    was_down = known is not None and known.status == "True"
    return was_down != (readiness(node) == "Unknown") and not pod.terminal


def partition_condition(node: Node, now: dt.datetime) -> Obj:
    """The condition that pods of the node must have."""
    is_down = readiness(node) == "Unknown"
    return {
        "type": NODE_DOWN,
        "status": "True" if is_down else "False",
        "reason": PARTITIONED if is_down else REPORTING,
        "message": _message(node) if is_down else f"Node {node.metadata.name} reports again.",
        "lastTransitionTime": format_time(now),
    }


def _message(node: Node) -> str:
    name, ready = node.metadata.name, condition(node.status.conditions, "Ready")
    since = ready.last_transition_time if ready else None
    when = f" since {format_time(since)}" if since else ""
    return (
        f"Node {name} counts as unreachable{when}: the processes of the pod may still run there. "
        "A deletion stays incomplete until the node reports, is fenced, or is gone for good and its Node "
        "object is deleted."
    )
