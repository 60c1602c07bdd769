"""What the plan of a maintenance is made from, and the plan itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import (
    BLOCKED,
    DRAINED,
    DRAINING,
    Blocker,
    NodeProgress,
)

ACTIVE = (DRAINING, BLOCKED)
STARTED = (*ACTIVE, DRAINED)


@dataclass(frozen=True, slots=True)
class Environment:
    """What a maintenance can see."""

    nodes: Mapping[str, Node]  # those that it means, as far as they exist
    pods: Callable[[str], Sequence[Pod]]  # of a node
    request: Callable[[Pod], EvictionRequest | None]
    budgets: Callable[[str], Sequence[PodDisruptionBudget]]  # of a namespace
    refused: Mapping[str, str] = field(default_factory=dict)  # by pod UID: why a request was refused
    unscheduled: Callable[[str], Sequence[Pod]] = lambda _: ()  # pods of a namespace that have no node


@dataclass(slots=True)
class Plan:
    """What to do, and what to report."""

    now: dt.datetime
    rows: list[NodeProgress] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)
    cordon: list[Node] = field(default_factory=list)  # the nodes that must be claimed
    starts: list[str] = field(default_factory=list)  # nodes whose turn comes now: record this before acting
    request: list[Pod] = field(default_factory=list)
    delete: list[Pod] = field(default_factory=list)
    wanted: set[str] = field(default_factory=set)  # UIDs of the pods whose requests are to stay
    until: dt.datetime | None = None  # when to look again, though nothing changes

    def wake(self, moment: dt.datetime | None) -> None:
        """Look again at that moment, or earlier; what has passed already is no reason to."""
        if moment is not None and moment > self.now:
            self.until = moment if self.until is None else min(self.until, moment)
