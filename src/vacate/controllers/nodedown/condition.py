"""PURE. What the pods of a node that does not report say about it, to distinguish partitions."""

from __future__ import annotations

import datetime as dt

from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types import Node, Pod, condition
from vacate.kube.nodes import NODE_DOWN, readiness

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
