"""What a Node says of its shutdown, beside what its kubelet says of itself."""

from __future__ import annotations

from vacate.api.objects import Obj, dig

SHUTDOWN_IN_PROGRESS = "GracefulNodeShutdownInProgress"
"""Kubernetes' own name for it (KEP-5683); written by the shutdown agent."""
GRACEFUL_SHUTDOWN = "vacate.dev/GracefulShutdown"
"""Whether the node would terminate its pods in order, and if not, why."""
SHUTDOWN_TAINT = "vacate.dev/shutdown"
"""Keeps new pods away from a node that goes down."""
GOING_DOWN_MESSAGE = "node is shutting down"
"""Of a kubelet's Ready condition, and of a `vacate node`'s, while it ends its pods."""


def graceful_shutdown(node: Obj) -> Obj:
    """What the shutdown agent of the node says of itself; empty where there is none."""
    for one in dig(node, "status", "conditions") or []:
        if isinstance(one, dict) and one.get("type") == GRACEFUL_SHUTDOWN:
            return one
    return {}


def shutdown_condition(node: Obj) -> Obj | None:
    """The condition by which the Node says that it ends its pods to shut down, by any program."""
    for one in dig(node, "status", "conditions") or []:
        if not isinstance(one, dict):
            continue
        if one.get("type") == SHUTDOWN_IN_PROGRESS and one.get("status") == "True":
            return one
        stated = (one.get("type"), one.get("status"), one.get("message"))
        if stated == ("Ready", "False", GOING_DOWN_MESSAGE):
            return one
    return None


def ready_status(node: Obj) -> str:
    """True, False or Unknown, as the Ready condition has it; empty where there is none."""
    for one in dig(node, "status", "conditions") or []:
        if isinstance(one, dict) and one.get("type") == "Ready":
            return str(one.get("status"))
    return ""
