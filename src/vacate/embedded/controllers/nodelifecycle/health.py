"""What silence means for a node: its conditions and its taints."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from vacate.api.times import after
from vacate.api.types import Condition, Node, Taint, condition
from vacate.kube.nodes import NOT_READY, UNREACHABLE, UNSCHEDULABLE, readiness

GRACE = dt.timedelta(seconds=50)
"""How long a node may be silent; longer where its lease promises to last longer."""
STARTUP_GRACE = dt.timedelta(seconds=60)
_BEYOND_LEASE = dt.timedelta(seconds=10)

_NO_SCHEDULE, _NO_EXECUTE = "NoSchedule", "NoExecute"
_HEARTBEAT_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_READINESS_TAINTS = {"False": NOT_READY, "Unknown": UNREACHABLE}
_PRESSURE_TAINTS: Mapping[str, str] = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
}
_MANAGED = tuple(
    [(key, _NO_SCHEDULE) for key in (NOT_READY, UNREACHABLE, UNSCHEDULABLE, *_PRESSURE_TAINTS.values())]
    + [(key, _NO_EXECUTE) for key in (NOT_READY, UNREACHABLE)]
)


def silent_at(node: Node, heard: dt.datetime, lease_seconds: int) -> dt.datetime:
    """When a node that was last heard of then counts as silent."""
    if not readiness(node):
        return heard + STARTUP_GRACE
    return max(after(heard, GRACE), after(after(heard, lease_seconds), _BEYOND_LEASE))


def unknown_conditions(node: Node, now: dt.datetime) -> list[Condition]:
    """The conditions of a silent node that must change, since nobody vouches for them any more."""
    changed = []
    for type_ in _HEARTBEAT_CONDITIONS:
        known = condition(node.status.conditions, type_)
        if known is None:
            reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
        elif known.status != "Unknown":
            reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
        else:
            continue
        moment = now.replace(microsecond=0)
        changed.append(
            Condition(
                type=type_, status="Unknown", reason=reason, message=message, last_transition_time=moment
            )
        )
    return changed


def wanted_taints(node: Node, everyone_down: bool) -> list[tuple[str, str]]:
    """Keys and effects that the node's conditions call for.

    While no node at all is ready the error is more likely here than there: nobody is evicted for it.
    """
    wanted = []
    ready = readiness(node) or "Unknown"
    if ready in _READINESS_TAINTS:
        wanted.append((_READINESS_TAINTS[ready], _NO_SCHEDULE))
        if not everyone_down:
            wanted.append((_READINESS_TAINTS[ready], _NO_EXECUTE))
    for type_, key in _PRESSURE_TAINTS.items():
        found = condition(node.status.conditions, type_)
        if found is not None and found.status == "True":
            wanted.append((key, _NO_SCHEDULE))
    if node.spec.unschedulable:
        wanted.append((UNSCHEDULABLE, _NO_SCHEDULE))
    return wanted


def next_taints(node: Node, everyone_down: bool, now: dt.datetime) -> list[Taint]:
    """The node's taints with those that follow from its conditions set right; all others stay."""
    wanted = wanted_taints(node, everyone_down)
    kept = [one for one in node.spec.taints if _name(one) in wanted or _name(one) not in _MANAGED]
    have = [_name(one) for one in kept]
    moment = now.replace(microsecond=0)
    return kept + [
        Taint(key=key, effect=effect, time_added=moment)
        for key, effect in wanted
        if (key, effect) not in have
    ]


def _name(taint: Taint) -> tuple[str, str]:
    return (taint.key, taint.effect)
