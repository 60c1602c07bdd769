"""PURE. Deletion costs by which a scale-down keeps the replicas spread over the domains of a topology.

Of the pods in one domain one costs nothing special, the next one less, and so on. A ReplicaSet deletes those
that cost least, so that the fullest domains give first, however many pods go. A pod that comes or goes
changes the cost of at most one other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vacate.api.types import Pod
from vacate.kube.deletionorder import DELETION_COST, is_active
from vacate.kube.surge import MARKED

SPREAD_COST = "vacate.dev/spread-cost"
"""The annotation of a pod whose deletion cost is of this sort: the same cost, which so is not its user's."""


def spread_key(pod: Pod) -> str:
    """The topology whose spread is kept: that of the first constraint which must hold, else of the first."""
    stated = pod.spec.topology_spread_constraints
    hard = [one for one in stated if one.when_unsatisfiable != "ScheduleAnyway"]
    return next((one.topology_key for one in (*hard, *stated)), "")


def cost_changes(
    pods: Iterable[Pod], node_labels: Mapping[str, Mapping[str, str]], *, wanted: bool = True
) -> list[tuple[Pod, str | None]]:
    """The pods of one ReplicaSet whose cost is to be written, or taken back (None); if not `wanted`, all.

    A cost that others have set stays, and so does that of a pod which is under request.
    """
    ours = [pod for pod in pods if is_active(pod) and _is_free(pod)]
    if not wanted:
        return [(pod, None) for pod in ours if SPREAD_COST in pod.metadata.annotations]
    domains: dict[str, list[Pod]] = {}
    for pod in ours:
        if domain := node_labels.get(pod.spec.node_name, {}).get(spread_key(pod), ""):
            domains.setdefault(domain, []).append(pod)
    changes: list[tuple[Pod, str | None]] = []
    for domain in sorted(domains):
        for pod, place in _places(domains[domain]):
            cost = str(-place) if place else None
            if pod.metadata.annotations.get(SPREAD_COST) != cost:
                changes.append((pod, cost))
    return changes


def _is_free(pod: Pod) -> bool:
    annotations = pod.metadata.annotations
    return MARKED not in annotations and annotations.get(DELETION_COST) == annotations.get(SPREAD_COST)


def _places(pods: Sequence[Pod]) -> list[tuple[Pod, int]]:
    """Each pod of a domain with its place from 0 on; as many as possible stay where they are."""
    taken: dict[int, Pod] = {}
    rest = []
    for pod in sorted(pods, key=lambda one: one.metadata.uid):
        place = _place(pod)
        if place is not None and place < len(pods) and place not in taken:
            taken[place] = pod
        else:
            rest.append(pod)
    free = (place for place in range(len(pods)) if place not in taken)
    taken.update(zip(free, rest, strict=True))
    return [(pod, place) for place, pod in taken.items()]


def _place(pod: Pod) -> int | None:
    """Where the pod has its place already; one without a cost may have the first, or none yet."""
    text = pod.metadata.annotations.get(SPREAD_COST, "0")
    digits = text.removeprefix("-")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
