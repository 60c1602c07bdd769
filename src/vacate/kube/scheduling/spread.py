"""Even distribution: topology spread constraints, and the default spreading of a controller's replicas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vacate.api.selectors.labels import Selector, selector_of
from vacate.api.types import Pod
from vacate.api.types.core import TopologySpread
from vacate.kube.scheduling.clusterview import HOSTNAME, ZONE, ClusterView, NodeView
from vacate.kube.scheduling.nodeaffinity import wants_node
from vacate.kube.scheduling.taints import HARD_EFFECTS, untolerated

NOT_MATCHED = "node(s) didn't match pod topology spread constraints"
LABEL_MISSING = f"{NOT_MATCHED} (missing required label)"


@dataclass(slots=True)
class Constraint:
    """One constraint with what is already there in each domain."""

    key: str
    max_skew: int
    min_domains: int
    counts: dict[str, int] = field(default_factory=dict)
    selects_itself: bool = False

    @property
    def fewest(self) -> int:
        """The emptiest domain's count, zero where there are fewer domains than asked for."""
        return min(self.counts.values(), default=0) if len(self.counts) >= self.min_domains else 0


def hard_constraints(pod: Pod, view: ClusterView) -> list[Constraint]:
    """The constraints that must hold, counted over all nodes that the pod could be on."""
    stated = [
        one for one in pod.spec.topology_spread_constraints if one.when_unsatisfiable != "ScheduleAnyway"
    ]
    return _counted(pod, stated, view.known_nodes()) if stated else []


def broken_constraint(constraints: Sequence[Constraint], labels: Mapping[str, str]) -> str | None:
    """Why the pod may not go where these labels are, or None."""
    for one in constraints:
        domain = labels.get(one.key)
        if domain is None:
            return LABEL_MISSING
        if one.counts.get(domain, 0) + one.selects_itself - one.fewest > one.max_skew:
            return NOT_MATCHED
    return None


def _counted(pod: Pod, stated: Sequence[TopologySpread], nodes: Sequence[NodeView]) -> list[Constraint]:
    keys = [one.topology_key for one in stated]
    complete = [view for view in nodes if all(key in view.labels for key in keys)]
    return [_count(pod, one, complete) for one in stated]


def _count(pod: Pod, stated: TopologySpread, nodes: Sequence[NodeView]) -> Constraint:
    selector = selector_of(stated.label_selector)
    shared = {key: pod.metadata.labels[key] for key in stated.match_label_keys if key in pod.metadata.labels}
    itself = _selects(selector, shared, pod.metadata.labels)
    counted = Constraint(stated.topology_key, stated.max_skew, stated.min_domains or 1, {}, itself)
    for view in nodes:
        if _counts_for(pod, stated, view):
            domain = view.labels[stated.topology_key]
            found = _matching(pod, selector, shared, view)
            counted.counts[domain] = counted.counts.get(domain, 0) + found
    return counted


def _counts_for(pod: Pod, stated: TopologySpread, view: NodeView) -> bool:
    assert view.node is not None
    if stated.node_affinity_policy != "Ignore" and not wants_node(pod, view.node):
        return False
    honoured = stated.node_taints_policy == "Honor"
    return not (honoured and untolerated(pod.spec.tolerations, view.node.spec.taints, HARD_EFFECTS))


def _selects(selector: Selector, shared: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return selector.matches(labels) and all(labels.get(key) == value for key, value in shared.items())


def _matching(pod: Pod, selector: Selector, shared: Mapping[str, str], view: NodeView) -> int:
    if selector.everything and not shared:  # a selector that says nothing spreads nothing
        return 0
    return sum(
        not one.pod.terminating
        and one.pod.metadata.namespace == pod.metadata.namespace
        and _selects(selector, shared, one.pod.metadata.labels)
        for one in view.tenants.values()
    )


# Default spreading, as the stock scheduler has it: hosts weigh more than zones.
_DEFAULT_HOST_SKEW, _DEFAULT_ZONE_SKEW = 3, 5


def spread_costs(pod: Pod, candidates: Sequence[NodeView], view: ClusterView) -> list[float] | None:
    """For each candidate how crowded it is, None where nothing asks for spreading; -1 marks an unfit node."""
    if pod.spec.topology_spread_constraints:
        return _stated_costs(pod, candidates, view)
    owner = pod.metadata.controller
    return _default_costs(owner.uid, candidates, view) if owner else None


def _stated_costs(pod: Pod, candidates: Sequence[NodeView], view: ClusterView) -> list[float] | None:
    soft = [one for one in pod.spec.topology_spread_constraints if one.when_unsatisfiable == "ScheduleAnyway"]
    if not soft:
        return None
    complete = [one for one in candidates if all(each.topology_key in one.labels for each in soft)]
    counted = _counted(pod, soft, view.known_nodes())
    weights = [_weight(len({one.labels[each.key] for one in complete})) for each in counted]
    return [
        sum(
            each.counts.get(one.labels[each.key], 0) * weight + each.max_skew - 1
            for each, weight in zip(counted, weights, strict=True)
        )
        if all(each.key in one.labels for each in counted)
        else -1.0
        for one in candidates
    ]


def _default_costs(group: str, candidates: Sequence[NodeView], view: ClusterView) -> list[float]:
    zones: dict[str, int] = {}
    for each in view.known_nodes():
        if zone := each.zone:
            zones[zone] = zones.get(zone, 0) + each.groups.get(group, 0)
    host_weight = _weight(len(candidates))
    zone_weight = _weight(len({one.zone for one in candidates if one.zone}))
    costs = []
    for one in candidates:
        cost = 0.0
        if HOSTNAME in one.labels:
            cost += one.groups.get(group, 0) * host_weight + _DEFAULT_HOST_SKEW - 1
        if ZONE in one.labels:
            cost += zones[one.zone] * zone_weight + _DEFAULT_ZONE_SKEW - 1
        costs.append(cost)
    return costs


def _weight(domains: int) -> float:
    return math.log(domains + 2)
