"""Which nodes may be drained now: a limit on how many, and never two values of a topology at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node as far as its turn depends on it."""

    name: str
    active: bool  # its turn has come, and it is not drained
    waiting: bool  # its turn has not come
    topology: str = ""


def limit_of(max_nodes: int | str, total: int) -> int:
    """How many nodes side by side: at least one."""
    try:
        return max(scaled_value(max_nodes, total, round_up=False), 1)
    except InvalidIntOrPercent:
        return 1


def next_turns(candidates: Sequence[Candidate], max_nodes: int | str, *, by_topology: bool) -> list[str]:
    """The nodes whose turn comes now, in the order given."""
    active = [one for one in candidates if one.active]
    room = limit_of(max_nodes, len(candidates)) - len(active)
    value = active[0].topology if active else None
    found: list[str] = []
    for one in candidates:
        if len(found) >= room:
            break
        if not one.waiting or (by_topology and value is not None and one.topology != value):
            continue
        value = one.topology
        found.append(one.name)
    return found
