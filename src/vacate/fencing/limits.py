"""Whether a node may be fenced. In doubt it may not: who is cut off may be the one who asks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vacate.api.types import Node, condition
from vacate.fencing.annotations import BEGUN
from vacate.kube.intorpercent import scaled_value
from vacate.kube.nodes import OUT_OF_SERVICE, is_marked_off, readiness

_NAMED, _SHOWN = 3, 120


@dataclass(frozen=True, slots=True)
class FencingLimits:
    """How much may be fenced."""

    min_healthy: int | str = "51%"  # of the other nodes, a number or a percentage, rounded up
    max_fenced: int = 1  # nodes that are out of service at the same time, this one included


def check_limits(
    nodes: Sequence[Node],
    name: str,
    limits: FencingLimits,
    *,
    heard: Collection[str] | None = None,
    under_way: Collection[str] = (),
) -> str:
    """Why the node may not be fenced now, as a whole sentence; empty where it may.

    `heard` are the nodes that were just seen to report: with it, being marked ready is not enough, as the
    marks stay when those who write them are cut off. `under_way` are nodes that policies are fencing.
    """
    node = next((one for one in nodes if one.metadata.name == name), None)
    if node is None:
        return f"there is no node {name}"
    if is_marked_off(node):
        return f"node {name} is out of service already (taint {OUT_OF_SERVICE})"
    if reason := _reports(node):
        return reason
    others = [one for one in nodes if one.metadata.name != name]
    return _too_few_healthy(others, limits, heard) or _too_many_fenced(others, limits, heard, under_way)


def _too_few_healthy(others: Sequence[Node], limits: FencingLimits, heard: Collection[str] | None) -> str:
    ready = [one for one in others if readiness(one) == "True"]
    healthy = sum(heard is None or one.metadata.name in heard for one in ready)
    if not healthy:
        seen = "no other node is ready" if not ready else "no other node is seen to report"
        return (
            f"{seen}: the control plane is more likely to be cut off than all nodes to be "
            "down. Nothing is fenced until a node is ready"
        )
    wanted = scaled_value(limits.min_healthy, len(others), round_up=True)
    if healthy < wanted:
        return (
            f"only {healthy} of the {len(others)} other nodes are ready, and {wanted} must be "
            f"(minimum {limits.min_healthy}): find out first why so many are not ready"
        )
    return ""


def _too_many_fenced(
    others: Sequence[Node], limits: FencingLimits, heard: Collection[str] | None, under_way: Collection[str]
) -> str:
    fenced = [one for one in others if _is_off(one, heard) or one.metadata.name in under_way]
    # What anybody began to fence counts too, unless the node reports: nothing of that fence is true then.
    begun = [
        one
        for one in others
        if one not in fenced
        and BEGUN in one.metadata.annotations
        and readiness(one) == "Unknown"
        and one.metadata.name not in (heard or ())
    ]
    if len(fenced) + len(begun) < limits.max_fenced:
        return ""
    named = [one.metadata.name for one in fenced]
    named += [f"{one.metadata.name}, begun by {one.metadata.annotations[BEGUN][:_SHOWN]}" for one in begun]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return (
        f"{len(named)} nodes are out of service already or being fenced ({'; '.join(named[:_NAMED])}{more}), "
        f"and at most {limits.max_fenced} may be: bring one back (vacate fence NODE --undo), or allow more"
    )


def _is_off(node: Node, heard: Collection[str] | None) -> bool:
    """Whether the node is marked as off, and is not seen to be back. In doubt it is off."""
    back = readiness(node) == "True" and (heard is None or node.metadata.name in heard)
    return is_marked_off(node) and not back


def _reports(node: Node) -> str:
    """Fencing is for nodes that are silent. One that speaks can end its pods itself."""
    name, found = node.metadata.name, condition(node.status.conditions, "Ready")
    if found is not None and found.status == "Unknown":
        return ""
    state = f"Ready={found.status}" if found else "nothing yet about itself"
    return f"node {name} still reports ({state}): drain it instead, or wait until it is unreachable"
