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
from vacate.api.times import after, format_time
from vacate.api.types import Node, Pod, condition
from vacate.cache.indexes import NODE, PLACED
from vacate.errors import Conflict, NotFound
from vacate.kube.nodes import NODE_DOWN, readiness
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome

QUEUE = "nodedown"
AT_ONCE = 8
"""So many pods of a node are written at the same time: a node has a hundred, and a rack that is lost more."""
AGAIN_SECONDS = 0.5
"""A pod is not written more often. For a moment there may be two managers, one of which knows an older state
of the node; without a pause each would undo at once what the other has written."""


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
        self._written: dict[str, float] = {}  # by UID, when this manager has written to a pod lately

    def node_of(self, pod: Pod) -> Iterable[Key]:
        """The node of a pod that does not say what is true of it, such as one that has come since."""
        node = self._nodes.get("", pod.spec.node_name) if pod.spec.node_name else None
        return (Key("", node.metadata.name),) if node is not None and needs_change(pod, node) else ()

    async def reconcile(self, key: Key) -> Outcome:
        """Write to each pod of one node that needs it."""
        node = self._nodes.get("", key.name)
        if node is None:
            return Done()
        now, monotonic = self._deps.clock.now(), self._deps.clock.monotonic()
        self._written = {uid: at for uid, at in self._written.items() if monotonic - at < AGAIN_SECONDS}
        wrong = [pod for pod in self._pods.by_index(NODE, key.name) if needs_change(pod, node)]
        pods = [pod for pod in wrong if pod.metadata.uid not in self._written]
        for first in range(0, len(pods), AT_ONCE):
            some = pods[first : first + AT_ONCE]
            await asyncio.gather(*(self._patch(pod, partition_condition(node, now)) for pod in some))
        return Later(after(now, AGAIN_SECONDS)) if len(pods) < len(wrong) else Done()

    async def _patch(self, pod: Pod, condition: Obj) -> None:
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
        try:
            await self._deps.client.patch_status(PODS, meta.name, patch, meta.namespace)
        except (NotFound, Conflict):
            return  # gone, or another pod has its name
        self._written[meta.uid] = self._deps.clock.monotonic()


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
