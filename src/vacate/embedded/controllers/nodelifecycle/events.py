"""Events about nodes that stop reporting and the pods on them."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import NODES, PODS
from vacate.api.types import Node, Pod


def node_not_ready(node: Node) -> EventNote:
    """The node fell silent."""
    message = f"Node {node.metadata.name} status is now: NodeNotReady"
    return EventNote(regarding(NODES, node), NORMAL, "NodeNotReady", message)


def pod_not_ready(pod: Pod) -> EventNote:
    """The pod's node fell silent."""
    return EventNote(regarding(PODS, pod), WARNING, "NodeNotReady", "Node is not ready")


def evicted_by_taint(pod: Pod) -> EventNote:
    """The pod's node drives it out."""
    meta = pod.metadata
    message = f"Marking for deletion Pod {meta.namespace}/{meta.name}"
    return EventNote(regarding(PODS, pod), NORMAL, "TaintManagerEviction", message)
