"""PURE. What the record of a volume becomes.

    free ── a pod that uses it has a node, or waits at the gate ──> attached to that node, for that pod
     ^                                                                │ other pods of the same node join
     └──────── every pod that it names is confirmed to have ended ────┘

A pod that has not been confirmed to have ended keeps the volume, whatever else is true of it. The record may
be lost or written by others: a pod that runs keeps the volume although no record names it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from vacate.api.times import format_time
from vacate.api.types import Pod
from vacate.kube.exclusivevolumes import (
    MAX_HOLDERS,
    OPENED,
    Attachment,
    attach,
    holder_of,
    waits_at_gate,
)

Eligible = Callable[[Pod], bool]
"""Whether the pod has all volumes that come before this one: volumes are taken in the order of their names,
so that two pods never wait for each other."""


def next_attachment(
    old: Attachment | None,
    users: Sequence[Pod],
    ended: Collection[str],
    now: dt.datetime,
    eligible: Eligible = lambda _: True,
    *,
    running: Sequence[Pod] = (),
    barred: Collection[str] = (),
    listing: Collection[str] = (),
) -> Attachment | None:
    """The record that follows, given the pods that use the volume and the UIDs of those that have ended.

    `running` are the pods that the server shows to run with the volume, `barred` the nodes from which it was
    taken by hand and which have not confirmed that yet, `listing` those that report that they use it.
    """
    kept = _of_those_that_run(_kept(old, users, ended), running, now)
    if kept is None and running:
        return None  # on several nodes: nobody else may join them
    waiting = [pod for pod in users if _wants(pod) and not (kept and kept.names(pod.metadata.uid))]
    waiting = [pod for pod in waiting if pod.spec.node_name not in barred and eligible(pod)]
    if kept is None:
        # Where the record was lost, a node may use the volume although no pod is left that shows it.
        free = [pod for pod in waiting if all(node == pod.spec.node_name for node in listing)]
        first = min(free, key=_order, default=None)
        if first is None:
            return None
        kept = attach(first, now)
        waiting = [pod for pod in waiting if pod is not first]
    return _join(kept, waiting)


def _kept(old: Attachment | None, users: Sequence[Pod], ended: Collection[str]) -> Attachment | None:
    """The old record without terminated pods; the node of a pod that has got one is written down."""
    if old is None:
        return None
    pods = tuple(one for one in old.pods if one.uid not in ended)
    if not pods:
        return None
    if old.node:
        return replace(old, pods=pods)
    named = [pod for pod in users if old.names(pod.metadata.uid)]
    node = next((pod.spec.node_name for pod in named if pod.spec.node_name), "")
    opened = any(not waits_at_gate(pod) for pod in named)  # by the manager, or by another client
    return replace(old, node=node, pods=pods, gate="" if node else OPENED if opened else old.gate)


def _of_those_that_run(
    kept: Attachment | None, running: Sequence[Pod], now: dt.datetime
) -> Attachment | None:
    """The record of the one node where pods run, unless the record already names one of them."""
    if kept is not None and (not running or any(kept.names(pod.metadata.uid) for pod in running)):
        return kept
    nodes = {pod.spec.node_name for pod in running}
    if len(nodes) != 1:
        return kept
    if kept is not None and kept.node in nodes:
        return kept  # they join
    holders = tuple(map(holder_of, sorted(running, key=_order)))[:MAX_HOLDERS]
    return Attachment(nodes.pop(), holders, format_time(now))


def _join(kept: Attachment, waiting: Sequence[Pod]) -> Attachment:
    """Pods of the same node share the volume."""
    if not kept.node:
        return kept
    beside = sorted((pod for pod in waiting if pod.spec.node_name == kept.node), key=_order)
    return replace(kept, pods=(*kept.pods, *map(holder_of, beside))[:MAX_HOLDERS])


def _wants(pod: Pod) -> bool:
    """A pod that will run: it has a node or waits at the gate, and its end has not begun."""
    if pod.terminating or pod.terminal:
        return False
    return bool(pod.spec.node_name) or waits_at_gate(pod)


def _order(pod: Pod) -> tuple[bool, int, str, str]:
    """Pods that have a node first, then by priority, then by name."""
    meta = pod.metadata
    return (not pod.spec.node_name, -(pod.spec.priority or 0), meta.namespace, meta.name)
