"""Which of the misplaced pods are evicted now: within limits, and only where another node would take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from vacate.api.types import Node, Pod
from vacate.api.types.deschedulingpolicy import NOWHERE_TO_GO, REQUESTED, WAITING
from vacate.descheduling.violations import Scope, Violation, violations
from vacate.kube.scheduling.clusterview import ClusterView
from vacate.kube.scheduling.placement import NoFit, place
from vacate.views.phrases import counted


@dataclass(frozen=True, slots=True)
class Limits:
    """How many pods are evicted or terminating at once."""

    per_node: int = 1
    per_namespace: int = 1
    total: int = 10


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to a misplaced pod: `state` is one of the states of a policy's status."""

    violation: Violation
    state: str
    message: str


@dataclass(slots=True)
class DeschedulingPlan:
    """All misplaced pods, and those whose eviction is to be requested now."""

    decisions: list[Decision] = field(default_factory=list)
    request: list[Decision] = field(default_factory=list)
    misplaced: set[str] = field(default_factory=set)  # UIDs


@dataclass(slots=True)
class _Counts:
    """Pods that are evicted or terminating, by node, by namespace and in all."""

    nodes: dict[str, int] = field(default_factory=dict)
    namespaces: dict[str, int] = field(default_factory=dict)
    total: int = 0

    def add(self, pod: Pod) -> None:
        node, namespace = pod.spec.node_name, pod.metadata.namespace
        self.nodes[node] = self.nodes.get(node, 0) + 1
        self.namespaces[namespace] = self.namespaces.get(namespace, 0) + 1
        self.total += 1

    def why_not(self, pod: Pod, limits: Limits) -> str:
        node, namespace = pod.spec.node_name, pod.metadata.namespace
        if self.total >= limits.total:
            return f"the limit is reached: {counted(self.total, 'pod')} being evicted in all"
        if self.nodes.get(node, 0) >= limits.per_node:
            return f"the limit is reached: {counted(self.nodes[node], 'pod')} of node {node} being evicted"
        if self.namespaces.get(namespace, 0) >= limits.per_namespace:
            going = counted(self.namespaces[namespace], "pod")
            return f"the limit is reached: {going} of namespace {namespace} being evicted"
        return ""


def plan_descheduling(
    scope: Scope,
    limits: Limits,
    nodes: Sequence[Node],
    pods: Sequence[Pod],
    requested: Mapping[str, bool],
) -> DeschedulingPlan:
    """The next step. `requested` has the UIDs of pods with an open request, and whether it is our own.

    Requests of others count towards the limits too: the limits are there for the applications.
    """
    found = violations(scope, nodes, pods, requested)
    plan = DeschedulingPlan(misplaced={one.pod.metadata.uid for one in found})
    counts = _Counts()
    for pod in pods:
        if pod.terminating or pod.metadata.uid in requested:
            counts.add(pod)
    view = _view(nodes, pods)
    for one in found:
        uid = one.pod.metadata.uid
        if uid in requested:
            plan.decisions.append(Decision(one, REQUESTED, one.message))
            continue
        if why := counts.why_not(one.pod, limits):
            plan.decisions.append(Decision(one, WAITING, f"{one.message}; {why}"))
            continue
        if why := _no_room(one.pod, view):
            plan.decisions.append(Decision(one, NOWHERE_TO_GO, f"{one.message}; {why}"))
            continue
        counts.add(one.pod)
        decision = Decision(one, REQUESTED, one.message)
        plan.decisions.append(decision)
        plan.request.append(decision)
    return plan


def _view(nodes: Iterable[Node], pods: Iterable[Pod]) -> ClusterView:
    view = ClusterView()
    for node in nodes:
        view.set_node(node)
    for pod in pods:
        view.set_pod(pod)
    return view


def _no_room(pod: Pod, view: ClusterView) -> str:
    """Why no other node takes the pod; empty where one does, and its room there is taken then."""
    replacement = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
    view.remove_pod(pod.metadata.uid)
    match place(replacement, view):
        case NoFit(message):
            view.set_pod(pod)
            return f"no node would take it: {message}"
        case placed if placed.node == pod.spec.node_name:
            view.set_pod(pod)
            return "the scheduler would place it on the same node"
        case placed:
            view.set_pod(replacement, placed.node)
            return ""
