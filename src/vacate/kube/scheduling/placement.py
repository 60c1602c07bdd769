"""Where does this pod go? One node, or a message that says why there is none.

Rules and messages are those of the stock scheduler, in its order: a node is counted under the first rule
that rejects it, and only missing resources name more than one reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vacate.api.types import Node, Pod, Taint
from vacate.kube.scheduling.clusterview import ClusterView, NodeView
from vacate.kube.scheduling.nodeaffinity import requires_node_labels, wants_node
from vacate.kube.scheduling.podaffinity import broken_affinity, neighbours
from vacate.kube.scheduling.requests import Amounts, Port, host_ports, pod_requests, ports_collide
from vacate.kube.scheduling.scores import best
from vacate.kube.scheduling.spread import broken_constraint, hard_constraints
from vacate.kube.scheduling.taints import HARD_EFFECTS, tolerated, untolerated
from vacate.kube.scheduling.volumes import OUT_OF_REACH, bound_volumes, missing_claim, reaches

DEFAULT_SCHEDULER = "default-scheduler"
UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")

CORDONED = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
UNWANTED = "node(s) didn't match Pod's node affinity/selector"
PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"
NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Placed:
    """The pod goes to this node."""

    node: str


@dataclass(frozen=True, slots=True)
class NoFit:
    """No node takes the pod now."""

    message: str


Rule = Callable[[NodeView], Sequence[str]]
"""The reasons against a node, none where it passes."""


def awaits_scheduling(pod: Pod, scheduler: str = DEFAULT_SCHEDULER) -> bool:
    """Whether it is this scheduler's turn: no node yet, no gate, not finished and not terminating."""
    return (
        pod.spec.scheduler_name == scheduler
        and not pod.spec.node_name
        and not pod.spec.scheduling_gates
        and not pod.terminating
        and not pod.terminal
    )


def place(pod: Pod, view: ClusterView) -> Placed | NoFit:
    """The best node for the pod, or why none takes it."""
    nodes = view.known_nodes()
    if not nodes:
        return NoFit(NO_NODES)
    if why := missing_claim(pod, view):
        return NoFit(f"0/{len(nodes)} nodes are available: {why}.")
    rules = rules_for(pod, view)
    fitting: list[NodeView] = []
    refused: list[Sequence[str]] = []
    for one in nodes:
        reasons = refusal(one, rules)
        if reasons:
            refused.append(reasons)
        else:
            fitting.append(one)
    if not fitting:
        return NoFit(no_fit_message(len(nodes), refused))
    return Placed(best(pod, fitting, view).name)


def refusal(view: NodeView, rules: Iterable[Rule]) -> Sequence[str]:
    """The reasons of the first rule that rejects the node."""
    for rule in rules:
        if reasons := rule(view):
            return reasons
    return ()


def rules_for(pod: Pod, view: ClusterView) -> list[Rule]:
    """The rules that this pod brings, cheap ones first; what looks at other pods is worked out once."""
    requests, ports = pod_requests(pod), host_ports(pod)
    rules: list[Rule] = [lambda one: _closed(pod, _node(one))]
    if requires_node_labels(pod):
        rules.append(lambda one: () if wants_node(pod, _node(one)) else (UNWANTED,))
    if ports:
        rules.append(lambda one: _ports(ports, one))
    rules.append(lambda one: _resources(requests, one))
    if volumes := bound_volumes(pod, view):
        rules.append(lambda one: () if all(reaches(v, _node(one)) for v in volumes) else (OUT_OF_REACH,))
    if constraints := hard_constraints(pod, view):
        rules.append(lambda one: _reason(broken_constraint(constraints, one.labels)))
    if pod.spec.affinity or view.guarded:
        found = neighbours(pod, view)
        rules.append(lambda one: _reason(broken_affinity(found, one.labels)))
    return rules


def no_fit_message(nodes: int, refused: Iterable[Sequence[str]]) -> str:
    """`0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.`"""
    counts: dict[str, int] = {}
    for reasons in refused:
        for reason in reasons:
            counts[reason] = counts.get(reason, 0) + 1
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{nodes} nodes are available: {listed}."


def _node(view: NodeView) -> Node:
    assert view.node is not None, "only nodes that exist are asked"
    return view.node


def _reason(text: str | None) -> Sequence[str]:
    return () if text is None else (text,)


def _closed(pod: Pod, node: Node) -> Sequence[str]:
    spec = node.spec
    if spec.unschedulable and not tolerated(pod.spec.tolerations, UNSCHEDULABLE):
        return (CORDONED,)
    if spec.taints and untolerated(pod.spec.tolerations, spec.taints, HARD_EFFECTS):
        return (TAINTED,)
    return ()


def _ports(wanted: Sequence[Port], view: NodeView) -> Sequence[str]:
    return (PORTS_TAKEN,) if ports_collide(wanted, view.taken_ports()) else ()


def _resources(requests: Amounts, view: NodeView) -> Sequence[str]:
    reasons, have, taken = [], view.allocatable, view.requested
    if len(view.tenants) + 1 > have.get("pods", 0):
        reasons.append(TOO_MANY_PODS)
    for resource, wanted in requests.items():
        if wanted > have.get(resource, 0) - taken.get(resource, 0) and wanted > 0:
            reasons.append(f"Insufficient {resource}")
    return reasons
