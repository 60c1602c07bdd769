"""Follows what is written in the simulated cluster: the health of workloads, budgets, the last change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import orjson

from vacate.api.kinds import (
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    Kind,
)
from vacate.api.objects import Obj, dig
from vacate.api.types import PodDisruptionBudget
from vacate.api.workloads import OWN_RESPONDERS
from vacate.client.codec import codec_for
from vacate.embedded.store.log import Record
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import DIALECTS
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import shown_stage
from vacate.plan.capacity import Capacity
from vacate.plan.loading import workload_of
from vacate.sim.history import is_healthy
from vacate.views.budgets import covering

_REQUESTS = {kind.resource: dialect for kind, dialect in DIALECTS.items()}
_REPORTS = {
    "events", "leases.coordination.k8s.io", LIFECYCLE_REQUESTS.resource, NODEMAINTENANCES.resource,
    *_REQUESTS,
}  # fmt: skip
"""What is written while nothing happens: attempts, reports and heartbeats."""
STOPS, REPLACEMENT, REFUSED = "the end of its containers", "its replacement", "an eviction that is refused"
OWN_NAMES = frozenset([*OWN_RESPONDERS, *OWN_RESPONDERS.values()])
"""Vacate's own interceptors, which wait for replacements."""


@dataclass(slots=True)
class Count:
    """How many there were, and how many there are."""

    wanted: int = 0  # healthy pods at the beginning
    now: int = 0
    lowest: int = 0
    below: float = 0.0  # seconds with fewer than wanted
    since: float | None = None

    def change(self, by: int, at: float) -> None:
        """There are so many more."""
        self.now += by
        self.lowest = min(self.lowest, self.now)
        if self.now < self.wanted and self.since is None:
            self.since = at
        elif self.now >= self.wanted and self.since is not None:
            self.below, self.since = self.below + at - self.since, None

    def below_until(self, end: float) -> float:
        """Seconds below, counted to a moment."""
        return self.below + (end - self.since if self.since is not None else 0.0)


class Step(msgspec.Struct, frozen=True, rename="camel"):
    """A part of what it takes until a pod is gone."""

    what: str
    seconds: float


@dataclass(slots=True)
class _Leaving:
    """A pod of a node that is drained, and what its eviction waits for."""

    labels: Mapping[str, str]
    steps: list[Step] = field(default_factory=list)
    waits_for: str = ""
    since: float = 0.0
    refused: bool = False  # it waits for its eviction to be tried again

    def wait(self, what: str, at: float) -> None:
        """From now on it waits for something else."""
        self.refused = False
        if what == self.waits_for:
            return
        if self.waits_for and at - self.since >= 1.0:
            self.steps.append(Step(self.waits_for, round(at - self.since)))
        self.waits_for, self.since = what, at


@dataclass(slots=True)
class Observer:
    """What has happened so far, in seconds since the beginning."""

    time: Callable[[], float]
    workloads: dict[str, str]
    drained: Collection[str]  # the nodes
    counts: dict[str, Count] = field(default_factory=dict)
    at_zero: dict[str, Count] = field(default_factory=dict)  # by budget: below one means that it allows none
    began: float = 0.0  # when the drain was created
    changed: float = 0.0  # when anything changed last
    last_pods: dict[str, tuple[float, str]] = field(default_factory=dict)  # by node: the pod that went last
    evicted: int = 0
    capacity: Capacity = field(default_factory=Capacity)
    _healthy: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)  # uid and workload by pod
    _nodes: dict[tuple[str, str], str] = field(default_factory=dict)
    _leaving: dict[tuple[str, str], _Leaving] = field(default_factory=dict)
    _budgets: dict[tuple[str, str], PodDisruptionBudget] = field(default_factory=dict)

    def begin(self, objects: Sequence[tuple[Kind, Obj]]) -> None:
        """Count what is there."""
        for kind, obj in objects:
            if kind is NODES:
                self.capacity.node(obj["metadata"]["name"], obj)
        for kind, obj in objects:
            meta = obj["metadata"]
            place = (meta.get("namespace", ""), meta["name"])
            if kind is PODS:
                self._pod(place, obj)
            elif kind is PODDISRUPTIONBUDGETS:
                self._budget(place, obj)
        for count in self.counts.values():
            count.wanted = count.lowest = count.now
            count.below, count.since = 0.0, None
        self.capacity.begin()

    def written(self, record: Record) -> None:
        """One more write."""
        if record.resource in _REQUESTS and not record.deleted:
            self._request(_REQUESTS[record.resource], orjson.loads(record.value))
        if record.resource in _REPORTS:
            return
        self.changed = self.time()
        place = (record.namespace, record.name)
        if record.resource == PODS.resource:
            self._pod(place, None if record.deleted else orjson.loads(record.value))
        elif record.resource == PODDISRUPTIONBUDGETS.resource and not record.deleted:
            self._budget(place, orjson.loads(record.value))
        elif record.resource == NODES.resource:
            self.capacity.node(record.name, None if record.deleted else orjson.loads(record.value))

    def _pod(self, place: tuple[str, str], pod: Obj | None) -> None:
        self.capacity.pod(place, pod)
        before = self._healthy.pop(place, None)
        if before is not None:
            self.counts[before[1]].now -= 1  # undone below where it is still there
        workload = "" if pod is None else workload_of(pod, self.workloads)
        healthy = pod is not None and is_healthy(pod)
        if pod is not None:
            self.counts.setdefault(workload, Count())
            if node := dig(pod, "spec", "nodeName"):
                self._nodes[place] = node
                if node in self.drained:
                    self._leave(place, pod)
        if pod is not None and healthy:
            self._healthy[place] = (str(pod["metadata"]["uid"]), workload)
            self.counts[workload].now += 1
        for name in {workload if healthy else "", before[1] if before else ""} - {""}:
            self.counts[name].change(0, self.time())
        if pod is None and (node := self._nodes.pop(place, "")) in self.drained:
            self.evicted += 1
            self._leaving[place].wait("", self.time())
            self.last_pods[node] = (self.time(), "/".join(place))

    def _leave(self, place: tuple[str, str], pod: Obj) -> None:
        labels = pod["metadata"].get("labels") or {}
        leaving = self._leaving.setdefault(place, _Leaving(labels))
        if pod["metadata"].get("deletionTimestamp"):
            leaving.wait(STOPS, self.time())

    def _request(self, dialect: Dialect, obj: Obj) -> None:
        request = dialect.read(codec_for(dialect.wire).convert(obj))
        status = request.status
        leaving = self._leaving.get((request.metadata.namespace, request.pod_name))
        if leaving is None or leaving.waits_for == STOPS or request.complete:
            return
        failed = status.pod_eviction_status
        if shown_stage(request) is Stage.INTERCEPTING:
            name = status.active_interceptor_name or ""
            leaving.wait(REPLACEMENT if name in OWN_NAMES else f"interceptor {name}", self.time())
        elif failed is not None and failed.failed_api_eviction_counter:
            if not leaving.refused:
                leaving.wait(self._refused_by(request.metadata.namespace, leaving.labels), self.time())
            leaving.refused = True
        else:
            leaving.wait("", self.time())

    def _refused_by(self, namespace: str, labels: Mapping[str, str]) -> str:
        found = covering([*self._budgets.values()], namespace, labels)
        names = ", ".join(f"{namespace}/{one.metadata.name}" for one in found)
        return f"budget {names}" if names else REFUSED

    def steps_of(self, pod: str) -> Sequence[Step]:
        """What a pod, given as namespace/name, that is gone from a drained node took its time for."""
        namespace, _, name = pod.partition("/")
        found = self._leaving.get((namespace, name))
        return found.steps if found is not None else ()

    def _budget(self, place: tuple[str, str], budget: Obj) -> None:
        if place not in self._budgets:
            self._budgets[place] = codec_for(PodDisruptionBudget).convert(budget)
        allowed = dig(budget, "status", "disruptionsAllowed") or 0
        count = self.at_zero.setdefault("/".join(place), Count(wanted=1, now=1, lowest=1))
        count.change((1 if allowed else 0) - count.now, self.time())
