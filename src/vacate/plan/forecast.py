"""What a plan says: the verdict, and the facts that it rests on. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from enum import Enum

import msgspec

from vacate.api.objects import Obj, dig
from vacate.api.types import Pod
from vacate.api.types.nodemaintenance import DRAINED, Blocker, NodeMaintenance
from vacate.client.codec import codec_for
from vacate.kube.scheduling.requests import pod_requests
from vacate.plan.capacity import Room
from vacate.plan.observer import Observer, Step
from vacate.plan.shortfall import Shortfall


class Verdict(Enum):
    """What would become of the drain."""

    FINISHES = "Finishes"
    LACKS_ROOM = "LacksRoom"  # it finishes, and pods have nowhere to go
    RUNS_ON = "RunsOn"  # not finished at the horizon, and still moving
    BLOCKS = "Blocks"
    STOPPED = "Stopped"  # the run was, before anything could be said


_FROM_BEST = (Verdict.STOPPED, Verdict.FINISHES, Verdict.LACKS_ROOM, Verdict.RUNS_ON, Verdict.BLOCKS)


class NodePlan(msgspec.Struct, frozen=True, rename="camel"):
    """One node: when its turn begins and ends, in seconds since the start."""

    name: str
    phase: str
    pods: int = 0
    begins: float | None = None
    ends: float | None = None
    last_pod: str = ""  # the one that went last
    last_pod_steps: tuple[Step, ...] = ()  # what that took its time for, the first first
    message: str = ""


class PodWithoutRoom(msgspec.Struct, frozen=True, rename="camel"):
    """A pod for which no node has room."""

    pod: str
    workload: str
    message: str  # the scheduler's
    cpu: float = 0.0  # cores
    memory: int = 0  # bytes


class WorkloadHealth(msgspec.Struct, frozen=True, rename="camel"):
    """The healthy pods of a workload over the time of the drain."""

    workload: str
    healthy: int  # at the beginning
    lowest: int
    below_seconds: float
    lasting: bool = False  # still so when nothing changes any more


class BudgetAtZero(msgspec.Struct, frozen=True, rename="camel"):
    """A budget that allowed no eviction, and for how long."""

    budget: str
    seconds: float
    lasting: bool = False


class Run(msgspec.Struct, frozen=True, rename="camel"):
    """One drain in the simulated cluster."""

    pace: str
    verdict: Verdict
    seconds: float  # until it was finished, or until the last change
    nodes: tuple[NodePlan, ...]
    blockers: tuple[Blocker, ...]
    blockers_total: int
    pods_without_room: tuple[PodWithoutRoom, ...]
    workloads: tuple[WorkloadHealth, ...]
    budgets: tuple[BudgetAtZero, ...]
    room: tuple[Room, ...]
    shortfalls: tuple[Shortfall, ...] = ()
    message: str = ""  # of the NodeMaintenance

    @property
    def drained(self) -> int:
        """How many nodes are drained in the end."""
        return sum(one.phase == DRAINED for one in self.nodes)


def worst(runs: Iterable[Run]) -> Run:
    """The run that decides: of those with the worst verdict the longest."""
    return max(runs, key=lambda run: (_FROM_BEST.index(run.verdict), run.seconds))


def describe(
    maintenance: NodeMaintenance,
    observer: Observer,
    verdict: Verdict,
    pods_without_room: tuple[PodWithoutRoom, ...],
    missing: tuple[Shortfall, ...],
    started: dt.datetime,
    pace: str,
) -> Run:
    """The facts of a run that has ended."""
    status = maintenance.status

    def since(moment: dt.datetime | None) -> float | None:
        return None if moment is None else max(round((moment - started).total_seconds()), 0)

    last = {node: name for node, (_, name) in observer.last_pods.items()}
    nodes = tuple(
        NodePlan(
            row.name,
            row.phase,
            row.pods_total,
            since(row.start_time),
            since(row.drained_time),
            last.get(row.name, ""),
            tuple(observer.steps_of(last.get(row.name, ""))),
            row.message,
        )
        for row in status.nodes
    )
    end = observer.time() if verdict in (Verdict.RUNS_ON, Verdict.STOPPED) else observer.changed
    ends = [one.ends for one in nodes if one.ends is not None]
    finished = verdict in (Verdict.FINISHES, Verdict.LACKS_ROOM)
    workloads = [
        WorkloadHealth(name, one.wanted, one.lowest, round(one.below_until(end), 1), one.since is not None)
        for name, one in observer.counts.items()
        if one.lowest < one.wanted
    ]
    zero = [
        BudgetAtZero(name, round(one.below_until(end), 1), one.since is not None)
        for name, one in observer.at_zero.items()
        if one.below_until(end) >= 1.0 or one.since is not None
    ]
    return Run(
        pace,
        verdict,
        max(ends, default=0.0) if finished else max(end - observer.began, 0.0),
        nodes,
        () if finished else tuple(status.blockers),
        0 if finished else status.blockers_total,
        pods_without_room,
        tuple(sorted(workloads, key=lambda one: (one.lowest, -one.below_seconds, one.workload))),
        tuple(sorted(zero, key=lambda one: (-one.seconds, one.budget))),
        observer.capacity.rooms(),
        missing,
        status.message,
    )


def without_room(
    pods: Iterable[Obj], before: frozenset[str], workload: Callable[[Obj], str]
) -> tuple[PodWithoutRoom, ...]:
    """The pods that the scheduler refused, but those that had no node before the drain."""
    found = []
    for pod in pods:
        meta = pod["metadata"]
        message = _unschedulable(pod)
        if message is None or str(meta["uid"]) in before or dig(pod, "spec", "nodeName"):
            continue
        wanted = pod_requests(codec_for(Pod).convert(pod))
        found.append(
            PodWithoutRoom(
                f"{meta['namespace']}/{meta['name']}",
                workload(pod),
                message,
                wanted.get("cpu", 0) / 1000,
                wanted.get("memory", 0),
            )
        )
    return tuple(sorted(found, key=lambda one: one.pod))


def _unschedulable(pod: Obj) -> str | None:
    for one in dig(pod, "status", "conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return str(one.get("message", ""))
    return None


def unplaced(pods: Iterable[Obj]) -> frozenset[str]:
    """The UIDs of pods without a node."""
    return frozenset(str(one["metadata"]["uid"]) for one in pods if not dig(one, "spec", "nodeName"))
