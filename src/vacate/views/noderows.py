"""Nodes as they are: which do not report, since when, whether they are fenced, and how many pods wait."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.types import Node, Pod, condition
from vacate.api.types.fencingpolicy import FencingPolicy, NodeFencing
from vacate.kube.nodes import OUT_OF_SERVICE
from vacate.views.phrases import ago

READY, NOT_READY, NODE_DOWN, FENCED = "Ready", "NotReady", "NodeDown", "Fenced"
_ORDER = (NODE_DOWN, FENCED, NOT_READY, READY)


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
    state = _state(node, ready.status if ready else "")
    since = ready.last_transition_time if ready else None
    policy, fencing = _fencing(node, policies)
    shown = f"{fencing.phase} ({policy})" if fencing else "-"
    return NodeRow(
        node.metadata.name,
        state,
        ago(since, now) if since else "-",
        shown,
        waiting,
        fencing.message if fencing else _meaning(state, waiting),
    )


def _state(node: Node, ready: str) -> str:
    if any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints):
        return FENCED
    return {"True": READY, "Unknown": NODE_DOWN}.get(ready, NOT_READY)


def _fencing(node: Node, policies: Sequence[FencingPolicy]) -> tuple[str, NodeFencing | None]:
    found = [
        (policy.metadata.name, row)
        for policy in policies
        for row in policy.status.nodes
        if row.name == node.metadata.name and row.uid == node.metadata.uid
    ]
    return max(found, key=lambda one: one[1].under_way, default=("", None))


def _meaning(state: str, waiting: int) -> str:
    if state == NODE_DOWN:
        held = "; its pods stay until it reports, is fenced, or is gone for good" if waiting else ""
        return f"off, or cut off with its pods running{held}"
    return "out of service: its pods are released" if state == FENCED else ""
