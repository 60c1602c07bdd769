"""Which of the nodes that fit is best: rules from 0 to 100, weighted as the stock scheduler weighs them."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.types import Node, Pod
from vacate.kube.scheduling.clusterview import ClusterView, NodeView
from vacate.kube.scheduling.nodeaffinity import has_preferences, preference
from vacate.kube.scheduling.requests import Amounts, assumed_requests
from vacate.kube.scheduling.spread import spread_costs
from vacate.kube.scheduling.taints import untolerated

_BEST = 100.0
_MEASURED = ("cpu", "memory")
_TAINTS, _AFFINITY, _ROOM, _SPREAD = 3, 2, 1, 2


def best(pod: Pod, candidates: Sequence[NodeView], view: ClusterView) -> NodeView:
    """The node with the highest score; ties go to the one with fewer pods, then to the first name."""
    totals = scores(pod, candidates, view)
    ranked = zip(totals, candidates, strict=True)
    return min(ranked, key=lambda each: (-each[0], len(each[1].tenants), each[1].name))[1]


def scores(pod: Pod, candidates: Sequence[NodeView], view: ClusterView) -> list[float]:
    """The total of each candidate, in their order."""
    if len(candidates) == 1:
        return [0.0]
    parts = [(_ROOM, _room(pod, candidates))]
    if any(_node(one).spec.taints for one in candidates):
        parts.append((_TAINTS, _fewest([_untolerated_preferences(pod, one) for one in candidates])))
    if has_preferences(pod):
        parts.append((_AFFINITY, _most([preference(pod, _node(one)) for one in candidates])))
    costs = spread_costs(pod, candidates, view)
    if costs is not None:
        parts.append((_SPREAD, _spread(costs)))
    weighted = [[weight * score for score in part] for weight, part in parts]
    return [sum(of_one) for of_one in zip(*weighted, strict=True)]


def _node(view: NodeView) -> Node:
    assert view.node is not None, "only nodes that exist are asked"
    return view.node


def _untolerated_preferences(pod: Pod, view: NodeView) -> int:
    return len(untolerated(pod.spec.tolerations, _node(view).spec.taints, ("PreferNoSchedule",)))


def _most(counts: Sequence[int]) -> list[float]:
    top = max(counts)
    return [_BEST * count / top if top else 0.0 for count in counts]


def _fewest(counts: Sequence[int]) -> list[float]:
    top = max(counts)
    return [_BEST - _BEST * count / top if top else _BEST for count in counts]


def _room(pod: Pod, candidates: Sequence[NodeView]) -> list[float]:
    wanted = assumed_requests(pod)
    return [room_left(wanted, one) for one in candidates]


def room_left(wanted: Amounts, view: NodeView) -> float:
    """The share of cpu and memory that stays free, on average, from 0 to 100."""
    total, counted = 0.0, 0
    for resource in _MEASURED:
        have = view.allocatable.get(resource, 0)
        if have > 0:
            left = have - view.assumed.get(resource, 0) - wanted.get(resource, 0)
            total += left * _BEST / have if left > 0 else 0.0
            counted += 1
    return total / counted if counted else 0.0


def _spread(costs: Sequence[float]) -> list[float]:
    fit = [cost for cost in costs if cost >= 0]
    low, high = min(fit, default=0.0), max(fit, default=0.0)
    if high == 0:
        return [_BEST if cost >= 0 else 0.0 for cost in costs]
    return [_BEST * (high + low - cost) / high if cost >= 0 else 0.0 for cost in costs]
