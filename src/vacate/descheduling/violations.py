"""Pods that the scheduler would not place where they are: by taints, node affinity or topology spread."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from vacate.api.selectors.labels import EVERYTHING, Selector
from vacate.api.types import Node, Pod
from vacate.api.types.deschedulingpolicy import NODE_AFFINITY, NODE_TAINTS, RULES, TOPOLOGY_SPREAD
from vacate.eviction.records.reader import DAEMON_SET, MIRROR
from vacate.kube.scheduling.clusterview import ClusterView
from vacate.kube.scheduling.nodeaffinity import wants_node
from vacate.kube.scheduling.spread import Constraint, hard_constraints
from vacate.kube.scheduling.taints import HARD_EFFECTS, untolerated

SYSTEM_NAMESPACE = "kube-system"
"""Pods of this namespace are left alone unless a policy names it."""

LIFECYCLE_TAINTS = "node.kubernetes.io/"
"""Taints of this prefix tell the state of a node, a cordon too. The node lifecycle controller and drains act
on them."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which rules count, and for which pods."""

    rules: Sequence[str] = RULES
    namespaces: frozenset[str] = frozenset()  # all but the system's where empty
    pods: Selector = EVERYTHING
    nodes: Selector = EVERYTHING
    local_data: bool = False  # whether pods with emptyDir volumes are evicted


@dataclass(frozen=True, slots=True)
class Violation:
    """A pod that stands where it should not."""

    pod: Pod
    rule: str
    message: str


def violations(
    scope: Scope, nodes: Iterable[Node], pods: Sequence[Pod], requested: Collection[str] = ()
) -> list[Violation]:
    """The pods in scope that violate a rule, each once, in the order in which they are evicted.

    Where one of several pods has to move, one whose eviction is requested already is taken.
    """
    by_name = {node.metadata.name: node for node in nodes}
    ours = [pod for pod in pods if is_in_scope(pod, by_name.get(pod.spec.node_name), scope)]
    ours.sort(key=lambda pod: (pod.metadata.uid not in requested, *_rank(pod)))
    found: dict[str, Violation] = {}
    for rule in (one for one in RULES if one in scope.rules):
        for one in _FINDERS[rule](ours, by_name, pods):
            found.setdefault(one.pod.metadata.uid, one)
    return sorted(found.values(), key=_order)


def is_in_scope(pod: Pod, node: Node | None, scope: Scope) -> bool:
    """Whether the pod may be evicted at all, and is meant.

    Pods that nothing re-creates, static and DaemonSet pods never are. A cordoned node is left to those who
    cordoned it.
    """
    owner, meta = pod.metadata.controller, pod.metadata
    if node is None or node.spec.unschedulable or owner is None or owner.kind == DAEMON_SET:
        return False
    if MIRROR in meta.annotations or pod.terminal or pod.terminating:
        return False
    if not scope.local_data and any(volume.empty_dir is not None for volume in pod.spec.volumes):
        return False
    named = meta.namespace in scope.namespaces if scope.namespaces else meta.namespace != SYSTEM_NAMESPACE
    return named and scope.pods.matches(meta.labels) and scope.nodes.matches(node.metadata.labels)


def _order(one: Violation) -> tuple[int, int, str, str]:
    return RULES.index(one.rule), *_rank(one.pod)


def _rank(pod: Pod) -> tuple[int, str, str]:
    return pod.spec.priority or 0, pod.metadata.namespace, pod.metadata.name


def _tainted(pods: Sequence[Pod], nodes: Mapping[str, Node], _all: Sequence[Pod]) -> Iterator[Violation]:
    for pod in pods:
        taints = nodes[pod.spec.node_name].spec.taints
        found = [
            taint
            for taint in untolerated(pod.spec.tolerations, taints, HARD_EFFECTS)
            if not taint.key.startswith(LIFECYCLE_TAINTS)
        ]
        if found:
            first = found[0]
            shown = f"{first.key}={first.value}" if first.value else first.key
            yield Violation(pod, NODE_TAINTS, f"does not tolerate taint {shown}:{first.effect}")


def _unwanted(pods: Sequence[Pod], nodes: Mapping[str, Node], _all: Sequence[Pod]) -> Iterator[Violation]:
    for pod in pods:
        if not wants_node(pod, nodes[pod.spec.node_name]):
            yield Violation(
                pod, NODE_AFFINITY, "its node selector or required node affinity does not match the node"
            )


def _uneven(pods: Sequence[Pod], nodes: Mapping[str, Node], all_: Sequence[Pod]) -> Iterator[Violation]:
    groups: dict[bytes, list[Pod]] = {}
    for pod in pods:
        if any(one.when_unsatisfiable != "ScheduleAnyway" for one in pod.spec.topology_spread_constraints):
            groups.setdefault(_group(pod), []).append(pod)
    if not groups:
        return
    view = ClusterView()
    for node in nodes.values():
        view.set_node(node)
    for pod in all_:
        view.set_pod(pod)
    for key in sorted(groups):
        yield from _surplus(groups[key], nodes, view)


def _group(pod: Pod) -> bytes:
    """Pods of one key count the same domains: of one controller, with the same constraints and labels."""
    meta, spec, owner = pod.metadata, pod.spec, pod.metadata.controller
    parts = (
        meta.namespace, owner.uid if owner else "", sorted(meta.labels.items()),
        spec.topology_spread_constraints, spec.node_selector, spec.affinity, spec.tolerations,
    )  # fmt: skip
    return msgspec.json.encode(parts, order="sorted")


def _surplus(pods: Sequence[Pod], nodes: Mapping[str, Node], view: ClusterView) -> Iterator[Violation]:
    """The fewest pods whose move evens the domains out, those of the lowest priority first."""
    left = list(pods)
    constraints = [one for one in hard_constraints(pods[0], view) if one.selects_itself]
    for one in constraints:
        while (moved := _from_fullest(one, left, nodes)) is not None:
            left.remove(moved)
            labels = nodes[moved.spec.node_name].metadata.labels
            domain = labels[one.key]
            skew = one.counts[domain] - one.fewest
            yield Violation(
                moved,
                TOPOLOGY_SPREAD,
                f"{one.counts[domain]} pods in {one.key}={domain}, {skew} more than in the emptiest domain; "
                f"maxSkew is {one.max_skew}",
            )
            for each in constraints:
                if each.counts.get(labels.get(each.key, ""), 0):
                    each.counts[labels[each.key]] -= 1
            emptiest = min(one.counts, key=lambda name: (one.counts[name], name))
            one.counts[emptiest] += 1


def _from_fullest(constraint: Constraint, pods: Sequence[Pod], nodes: Mapping[str, Node]) -> Pod | None:
    """A pod of the fullest domain of those that are too full; None where none of them has one left."""
    by_domain: dict[str, Pod] = {}
    for pod in pods:
        domain = nodes[pod.spec.node_name].metadata.labels.get(constraint.key)
        if domain is not None and domain not in by_domain:
            by_domain[domain] = pod
    over = [
        domain
        for domain in by_domain
        if constraint.counts.get(domain, 0) - constraint.fewest > constraint.max_skew
    ]
    if not over:
        return None
    return by_domain[min(over, key=lambda name: (-constraint.counts[name], name))]


_FINDERS = {NODE_TAINTS: _tainted, NODE_AFFINITY: _unwanted, TOPOLOGY_SPREAD: _uneven}
