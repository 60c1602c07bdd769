"""Which nodes may be drained now: limits on how many, and never two values of a topology at once.

A limit of a maintenance counts its own nodes. A topology key counts the nodes of all maintenances, whichever
of them names it, and so do the limits of the installation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from vacate.api.types import Node
from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value


@dataclass(frozen=True, slots=True)
class Turn:
    """A node that is drained now: by which maintenance, and by which label it keeps others apart."""

    maintenance: str
    node: Node
    topology_key: str = ""


@dataclass(frozen=True, slots=True)
class TurnRules:
    """What limits the turns of a maintenance."""

    max_nodes: int | str  # of its own nodes
    total: int  # how many nodes it has
    topology_key: str = ""
    # Those of the installation, for the nodes of all maintenances together.
    max_draining: int | None = None
    draining_key: str = ""


@dataclass(slots=True)
class Turns:
    """The nodes whose turn comes now, and what holds the first one that waits for other maintenances."""

    starts: list[str] = field(default_factory=list)
    held: str = ""  # the node
    by: Turn | None = None  # None where only the limit of the installation is reached
    key: str = ""  # the label whose value differs


def limit_of(max_nodes: int | str, total: int) -> int:
    """How many nodes side by side: at least one."""
    try:
        return max(scaled_value(max_nodes, total, round_up=False), 1)
    except InvalidIntOrPercent:
        return 1


def next_turns(
    waiting: Sequence[Node], own: Collection[Node], others: Sequence[Turn], rules: TurnRules
) -> Turns:
    """The nodes whose turn comes now, of those that wait, in the order given."""
    found = Turns()
    apart: _Apart = {}
    names: set[str] = set()
    for turn in (*(Turn("", node, rules.topology_key) for node in own), *others):
        _take(apart, turn, rules)
        names.add(turn.node.metadata.name)
    room = limit_of(rules.max_nodes, rules.total) - len(own)
    for node in waiting:
        if len(found.starts) >= room:
            break
        name = node.metadata.name
        conflict = _conflict(apart, node)
        full = rules.max_draining is not None and len(names) + (name not in names) > rules.max_draining
        if conflict is None and not full:
            found.starts.append(name)
            _take(apart, Turn("", node, rules.topology_key), rules)
            names.add(name)
        elif not found.held and (conflict is None or conflict[0].maintenance):
            found.held = name
            found.by, found.key = conflict if conflict is not None else (None, "")
    return found


_Apart = dict[str, dict[str, Turn]]  # by label: its values among the turns that count for it, each with one


def _take(apart: _Apart, turn: Turn, rules: TurnRules) -> None:
    for key in (rules.topology_key, rules.draining_key, turn.topology_key):
        if key:
            apart.setdefault(key, {}).setdefault(turn.node.metadata.labels.get(key, ""), turn)


def _conflict(apart: _Apart, node: Node) -> tuple[Turn, str] | None:
    """A turn that the node must not be drained beside, and the label by which; of one node the labels are
    the same, so that it is never apart from itself."""
    labels = node.metadata.labels
    for key, values in apart.items():
        mine = labels.get(key, "")
        for value, turn in values.items():
            if value != mine:
                return turn, key
    return None
