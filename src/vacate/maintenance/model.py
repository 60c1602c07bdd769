"""What the plan of a maintenance is made from, and the plan itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import (
    BLOCKED,
    DRAINED,
    DRAINING,
    Blocker,
    NodeProgress,
)
from vacate.eviction.model import Limits
from vacate.kube.workloads import Workload
from vacate.maintenance.blockers import RefusalBlocker, from_refusal
from vacate.maintenance.turns import Turn

ACTIVE = (DRAINING, BLOCKED)
STARTED = (*ACTIVE, DRAINED)


BlockerKey = tuple[str, str, str, str]


def blocker_key(one: Blocker) -> BlockerKey:
    """What makes two reports the same blocker."""
    return one.kind, one.node, one.namespace, one.pod


def known_since(blockers: Iterable[Blocker]) -> dict[BlockerKey, dt.datetime]:
    """Since when each of these was reported."""
    return {blocker_key(one): one.since for one in blockers if one.since is not None}


@dataclass(frozen=True, slots=True)
class MaintenanceInputs:
    """What a maintenance can see."""

    nodes: Mapping[str, Node]  # those that it means, as far as they exist
    pods: Callable[[str], Sequence[Pod]]  # of a node
    request: Callable[[Pod], EvictionRequest | None]
    budgets: Callable[[Pod], Sequence[PodDisruptionBudget]]  # that select it
    # Why the API server refused what was asked for at the last try.
    refused: Mapping[str, str] = field(default_factory=dict)  # requests, by the UID of the pod
    undeleted: Mapping[str, str] = field(default_factory=dict)  # deletions, by the UID of the pod
    unevicted: Mapping[str, str] = field(default_factory=dict)  # evictions past a request, likewise
    unwithdrawn: Mapping[str, str] = field(default_factory=dict)  # withdrawals, by namespace/pod
    refused_nodes: Mapping[tuple[str, str], str] = field(default_factory=dict)  # by kind of blocker and node
    unwritten: Callable[[Pod], str] = lambda _: ""  # what its eviction needs, by any controller
    unscheduled: Callable[[str], Sequence[Pod]] = lambda _: ()  # pods of a namespace that have no node
    workload: Callable[[Pod], Workload | None] = lambda _: None  # of a pod, where that is known
    refusal: RefusalBlocker = from_refusal

    others: Sequence[Turn] = ()  # the nodes that other maintenances drain now
    limits: Limits = field(default_factory=Limits)  # of the installation
    node_count: int = 0  # of the cluster
    forced: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by node: pods that no status has yet
    since: Mapping[BlockerKey, dt.datetime] = field(default_factory=dict)  # of what was reported last

    def dated(self, blocker: Blocker, now: dt.datetime) -> Blocker:
        """The blocker with the time since when it blocks: as it says itself, or since it is reported."""
        since = blocker.since or self.since.get(blocker_key(blocker), now)
        since = min(since, now).replace(microsecond=0)
        return blocker if since == blocker.since else replace(blocker, since=since)


@dataclass(slots=True)
class MaintenancePlan:
    """What to do, and what to report."""

    now: dt.datetime
    rows: list[NodeProgress] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)
    cordon: list[Node] = field(default_factory=list)  # the nodes that must be claimed
    starts: list[str] = field(default_factory=list)  # nodes whose turn comes now: record this before acting
    request: list[Pod] = field(default_factory=list)
    delete: list[Pod] = field(default_factory=list)
    overdue: set[str] = field(default_factory=set)  # UIDs of those that are deleted past budgets
    evict: list[Pod] = field(default_factory=list)  # past a request that cannot be replaced
    pinned: set[str] = field(default_factory=set)  # UIDs of those that are deleted past such a request
    wanted: set[str] = field(default_factory=set)  # UIDs of the pods whose requests are to stay
    until: dt.datetime | None = None  # when to look again, though nothing changes

    def wake(self, moment: dt.datetime | None) -> None:
        """Look again at that moment, or earlier; what has passed already is no reason to."""
        if moment is not None and moment > self.now:
            self.until = moment if self.until is None else min(self.until, moment)
