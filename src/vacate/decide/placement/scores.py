"""Which of the nodes that fit is best: rules from 0 to 100, weighted as the stock scheduler weighs them."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.types import Pod
from vacate.decide.placement.node_affinity import preference
from vacate.decide.placement.requests import Amounts, assumed_requests
from vacate.decide.placement.spread import spread_costs
from vacate.decide.placement.view import ClusterView, NodeView
from vacate.decide.tolerations import untolerated

_BEST = 100.0
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
    parts = (
        (_TAINTS, _fewest([_disliked(pod, one) for one in candidates])),
        (_AFFINITY, _most([_liking(pod, one) for one in candidates])),
        (_ROOM, _room(pod, candidates)),
        (_SPREAD, _spread(spread_costs(pod, candidates, view), len(candidates))),
    )
    return [sum(weight * part[index] for weight, part in parts) for index in range(len(candidates))]


def _disliked(pod: Pod, view: NodeView) -> int:
    assert view.node is not None
    return len(untolerated(pod.spec.tolerations, view.node.spec.taints, ("PreferNoSchedule",)))


def _liking(pod: Pod, view: NodeView) -> int:
    assert view.node is not None
    return preference(pod, view.node)


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
    shares = []
    for resource in ("cpu", "memory"):
        have = view.allocatable.get(resource, 0)
        if have > 0:
            used = view.assumed.get(resource, 0) + wanted.get(resource, 0)
            shares.append(max(have - used, 0) * _BEST / have)
    return sum(shares) / len(shares) if shares else 0.0


def _spread(costs: Sequence[float] | None, count: int) -> list[float]:
    if costs is None:
        return [0.0] * count
    fit = [cost for cost in costs if cost >= 0]
    low, high = min(fit, default=0.0), max(fit, default=0.0)
    if high == 0:
        return [_BEST if cost >= 0 else 0.0 for cost in costs]
    return [_BEST * (high + low - cost) / high if cost >= 0 else 0.0 for cost in costs]
