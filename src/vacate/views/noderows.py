"""Nodes as they are: which go down or do not report, since when, whether fenced, and how many pods wait."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.nodeconditions import GOING_DOWN_MESSAGE, SHUTDOWN_IN_PROGRESS
from vacate.api.types import Node, Pod, condition
from vacate.api.types.fencingpolicy import FencingPolicy, NodeFencing
from vacate.api.types.meta import Condition
from vacate.api.types.nodemaintenance import BLOCKED, DRAINED, DRAINING
from vacate.kube.nodes import OUT_OF_SERVICE
from vacate.views.phrases import NOTHING, span

READY, NOT_READY, NODE_DOWN, FENCED = "Ready", "NotReady", "NodeDown", "Fenced"
SHUTTING_DOWN = "ShuttingDown"
_ORDER = (NODE_DOWN, FENCED, SHUTTING_DOWN, NOT_READY, READY)

_DRAIN = (
    (BLOCKED, "cordoned; its drain is blocked: see kubectl get nodemaintenances"),
    (DRAINING, "cordoned; being drained"),
    (DRAINED, "cordoned; drained"),
)
"""What the conditions of a NodeMaintenance mean, the worst first: a blocked drain is also under way."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node."""

    name: str
    state: str
    since: str  # how long it has been so
    fencing: str  # what a FencingPolicy does about it
    waiting: int  # pods that are being deleted, whose end the node has not confirmed
    message: str


HEADER = ("NODE", "STATE", "SINCE", "FENCING", "PODS WAITING", "MESSAGE")


def node_rows(
    nodes: Sequence[Node], pods: Sequence[Pod], policies: Sequence[FencingPolicy], now: dt.datetime
) -> list[NodeRow]:
    """The nodes, those in trouble first."""
    waiting: dict[str, int] = {}
    for pod in pods:
        if pod.terminating and not pod.terminal and pod.spec.node_name:
            waiting[pod.spec.node_name] = waiting.get(pod.spec.node_name, 0) + 1
    rows = [_row(node, waiting.get(node.metadata.name, 0), policies, now) for node in nodes]
    return sorted(rows, key=lambda row: (_ORDER.index(row.state), row.name))


def _row(node: Node, waiting: int, policies: Sequence[FencingPolicy], now: dt.datetime) -> NodeRow:
    ready = condition(node.status.conditions, "Ready")
    going_down = _going_down(node, ready)
    state = _state(node, ready, going_down)
    stated = going_down if state == SHUTTING_DOWN else ready
    since = stated.last_transition_time if stated else None
    policy, fencing = _fencing(node, policies)
    shown = f"{fencing.phase} ({policy})" if fencing else NOTHING
    return NodeRow(
        node.metadata.name,
        state,
        span(now - since) if since else NOTHING,
        shown,
        waiting,
        fencing.message if fencing else _meaning(state, waiting, ready) or _cordon(node),
    )


def _going_down(node: Node, ready: Condition | None) -> Condition | None:
    """The condition of a shutdown in order: written by an agent beside a kubelet, or by the node itself."""
    under_way = condition(node.status.conditions, SHUTDOWN_IN_PROGRESS)
    if under_way is not None and under_way.status == "True":
        return under_way
    own = ready is not None and (ready.status, ready.message) == ("False", GOING_DOWN_MESSAGE)
    return ready if own else None


def _state(node: Node, ready: Condition | None, going_down: Condition | None) -> str:
    if any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints):
        return FENCED
    status = ready.status if ready else ""
    if going_down is not None and status != "Unknown":
        return SHUTTING_DOWN
    return {"True": READY, "Unknown": NODE_DOWN}.get(status, NOT_READY)


def _fencing(node: Node, policies: Sequence[FencingPolicy]) -> tuple[str, NodeFencing | None]:
    found = [
        (policy.metadata.name, row)
        for policy in policies
        for row in policy.status.nodes
        if row.name == node.metadata.name and row.uid == node.metadata.uid
    ]
    return max(found, key=lambda one: one[1].under_way, default=("", None))


def _meaning(state: str, waiting: int, ready: Condition | None) -> str:
    if state == NODE_DOWN:
        held = "; its pods stay until it reports, is fenced, or is gone for good" if waiting else ""
        return f"off, or cut off with its pods running{held}"
    if state == NOT_READY:
        return ready.message if ready else "it has never reported"
    return {
        FENCED: "out of service: its pods are released",
        SHUTTING_DOWN: "its pods terminate by priority",
    }.get(state, "")


def _cordon(node: Node) -> str:
    """That no pods are scheduled to it, and how far a drain has come."""
    if not node.spec.unschedulable:
        return ""
    true = {one.type for one in node.status.conditions if one.status == "True"}
    return next((meaning for phase, meaning in _DRAIN if phase in true), "cordoned")
