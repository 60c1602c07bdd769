"""The controller's Events: on the maintenance, and on the node for what happens to it."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import NODEMAINTENANCES, NODES, PODS
from vacate.api.text import plain
from vacate.api.types import Node, Pod
from vacate.api.types.nodemaintenance import (
    BLOCKED,
    DRAINED,
    NOT_FOUND,
    REPLACED,
    Blocker,
    NodeMaintenance,
    NodeProgress,
)

MAX_MESSAGE = 1024


def phase_changed(maintenance: NodeMaintenance, row: NodeProgress, blocker: Blocker | None) -> EventNote:
    """A node has come to another phase; the first blocker is named."""
    bad = row.phase in (BLOCKED, NOT_FOUND, REPLACED)
    message = f"Node {row.name}: {row.message}."
    if row.phase == BLOCKED and blocker is not None:
        what = f"pod {blocker.namespace}/{blocker.pod}: " if blocker.pod else ""
        why, remedy = blocker.message.removesuffix("."), blocker.remedy.removesuffix(".")
        message = f"Node {row.name} is blocked: {what}{why}. Remedy: {remedy}."
    return _about(maintenance, WARNING if bad else NORMAL, f"Node{row.phase}", message)


def node_cordoned(node: Node, maintenance: str) -> EventNote:
    """The node takes no new pods."""
    text = f"The node is cordoned for NodeMaintenance {maintenance}."
    return EventNote(regarding(NODES, node), NORMAL, "NodeCordoned", text)


def node_released(node: Node, maintenance: str, *, uncordoned: bool) -> EventNote:
    """A maintenance has taken back its claim."""
    end = "and takes pods again" if uncordoned else "and stays cordoned by others"
    text = f"The node is released by NodeMaintenance {maintenance} {end}."
    return EventNote(regarding(NODES, node), NORMAL, "NodeReleased", text)


def cancellation_forbidden(maintenance: NodeMaintenance, pod: str, why: str) -> EventNote:
    """A request that cannot be cancelled any more."""
    return _about(maintenance, WARNING, "CancellationForbidden", f"Pod {pod} is evicted anyway: {why}")


def deleted_at_deadline(maintenance: NodeMaintenance, pod: Pod) -> EventNote:
    """A pod was deleted without regard to what protects it."""
    text = (
        f"NodeMaintenance {maintenance.metadata.name} deleted the pod past its disruption budgets and "
        f"interceptors: the deadline of node {pod.spec.node_name} has passed (onDeadline: Delete)."
    )
    return EventNote(regarding(PODS, pod), WARNING, "DeletedAtDeadline", text)


def evicted_past_request(
    maintenance: NodeMaintenance, pod: Pod, blocker: Blocker | None, *, deleted: bool = False
) -> EventNote:
    """A pod was evicted, or of a DaemonSet and deleted, without a request: without its interceptors."""
    done = "deleted the DaemonSet pod" if deleted else "evicted the pod within its disruption budgets"
    why = blocker.message if blocker is not None else "its request is over and cannot be replaced"
    text = f"NodeMaintenance {maintenance.metadata.name} {done}, without asking its interceptors: {why}."
    return EventNote(regarding(PODS, pod), WARNING, "EvictedPastRequest", text[:MAX_MESSAGE])


def conditions_refused(maintenance: NodeMaintenance, node: str, why: str) -> EventNote:
    """The conditions of a node cannot be written; the drain goes on."""
    text = f"The conditions of node {node} could not be written: {plain(why, 800)}"
    return _about(maintenance, WARNING, "ConditionsRefused", text)


def undo_refused(maintenance: NodeMaintenance, what: str, why: str) -> EventNote:
    """Something that the maintenance did cannot be taken back."""
    text = f"{what} could not be taken back, and is tried again: {plain(why, 800)}"
    return _about(maintenance, WARNING, "UndoRefused", text)


def drained(maintenance: NodeMaintenance) -> EventNote:
    """All nodes are drained."""
    return _about(maintenance, NORMAL, DRAINED, "All nodes are drained.")


def _about(maintenance: NodeMaintenance, type_: str, reason: str, message: str) -> EventNote:
    return EventNote(regarding(NODEMAINTENANCES, maintenance), type_, reason, message[:MAX_MESSAGE])
