"""Readiness of nodes, and the taints that report it."""

from __future__ import annotations

from vacate.api.times import format_time
from vacate.api.types import Node, condition

NOT_READY = "node.kubernetes.io/not-ready"


UNREACHABLE = "node.kubernetes.io/unreachable"


UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""Says that the node is off and stays off until the taint is gone. Of one that is ready it is not true."""


NODE_DOWN = "vacate.dev/NodeDown"
"""The condition of pods whose node has stopped to report."""

SAFE_TO_DELETE = "vacate.dev/safe-to-delete"
"""On a Node that is not ready: since then it has no pod of a StatefulSet and no exclusive volume.

The value is the time at which its condition Ready last changed. So what was true of an earlier outage is
nothing that anybody could take for the present one.
"""


def out_of_service(node: Node) -> bool:
    """Whether the node was fenced, or declared to be off, and does not contradict that itself.

    Then nothing of its pods runs any more. Pod GC demands both as well.
    """
    return is_marked_off(node) and readiness(node) != "True"


def is_marked_off(node: Node) -> bool:
    """Whether an out-of-service taint declares that nothing runs on the node, whatever that says itself."""
    return any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def readiness(node: Node) -> str:
    """True, False, Unknown, or empty while the node has not reported anything yet."""
    found = condition(node.status.conditions, "Ready")
    return found.status if found else ""


def outage(node: Node) -> str:
    """Since when the node is not ready, as it is written; empty where it is ready, or that is not known."""
    found = condition(node.status.conditions, "Ready")
    since = found.last_transition_time if found else None
    return format_time(since) if found and since and found.status != "True" else ""
