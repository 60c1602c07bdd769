"""How large each replica set of a deployment is to be: the arithmetic of rolling updates and of scaling.

Everything here returns new sizes by the name of the replica set, only where a size changes or must be
confirmed; nothing here looks at templates, annotations other than the remembered sizes, or conditions.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.integers import parse_integer
from vacate.api.times import LATEST
from vacate.api.types import Deployment, ReplicaSet
from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value

DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
Sizes = dict[str, int]


def bounds(deployment: Deployment) -> tuple[int, int]:
    """How many pods may be too many and how many may be missing during a rolling update.

    Percentages round up for surplus and down for absence. If both come to nothing, one may be missing:
    otherwise no pod could ever be replaced.
    """
    rolling = deployment.spec.strategy.rolling_update
    if deployment.spec.strategy.type != "RollingUpdate":
        return 0, 0
    wanted = deployment.spec.replicas
    surge = _scaled(rolling.max_surge if rolling else None, wanted, round_up=True)
    unavailable = _scaled(rolling.max_unavailable if rolling else None, wanted, round_up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _scaled(value: int | str | None, total: int, *, round_up: bool) -> int:
    try:
        return scaled_value(value or 0, total, round_up=round_up)
    except InvalidIntOrPercent:
        return 0


def max_surge(deployment: Deployment) -> int:
    """How many pods there may be beyond the wanted number."""
    return bounds(deployment)[0]


def max_unavailable(deployment: Deployment) -> int:
    """How many of the wanted pods may be unavailable."""
    return min(bounds(deployment)[1], deployment.spec.replicas)


def total(replica_sets: Sequence[ReplicaSet]) -> int:
    """The sum of the wanted sizes."""
    return sum(one.spec.replicas for one in replica_sets)


def available(replica_sets: Sequence[ReplicaSet]) -> int:
    """The sum of the available pods."""
    return sum(one.status.available_replicas for one in replica_sets)


def oldest_first(replica_sets: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """By creation, then by name."""
    return sorted(replica_sets, key=lambda one: (_born(one), one.metadata.name))


def _born(one: ReplicaSet) -> float:
    return (one.metadata.creation_timestamp or LATEST).timestamp()


def size_of_new(deployment: Deployment, current: int, everything: int) -> int:
    """The size to which the new replica set may grow, given its own and the sum of all sizes."""
    wanted = deployment.spec.replicas
    if deployment.spec.strategy.type == "Recreate" or current > wanted:
        return wanted
    room = wanted + max_surge(deployment) - everything
    return current + max(0, min(room, wanted - current))


def sizes_of_old(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> Sizes:
    """How far the old replica sets may shrink now: first their unavailable pods, then available ones."""
    if total(old) == 0:
        return {}
    least = deployment.spec.replicas - max_unavailable(deployment)
    missing = new.spec.replicas - new.status.available_replicas
    spare = total(old) + new.spec.replicas - least - missing
    if spare <= 0:
        return {}
    sizes = _shed_unavailable(oldest_first(old), spare)
    surplus = available([*old, new]) - least
    return sizes | _shed(oldest_first(old), sizes, surplus)


def _shed_unavailable(old: Sequence[ReplicaSet], spare: int) -> Sizes:
    sizes: Sizes = {}
    for one in old:
        broken = one.spec.replicas - one.status.available_replicas
        drop = min(spare, broken)
        if drop > 0:
            sizes[one.metadata.name] = one.spec.replicas - drop
            spare -= drop
    return sizes


def _shed(old: Sequence[ReplicaSet], sizes: Sizes, surplus: int) -> Sizes:
    shed: Sizes = {}
    for one in old:
        size = sizes.get(one.metadata.name, one.spec.replicas)
        drop = min(size, surplus)
        if drop > 0:
            shed[one.metadata.name] = size - drop
            surplus -= drop
    return shed


def sizes_after_scaling(deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> Sizes:
    """The sizes after someone changed the wanted number, with the rollout itself standing still."""
    wanted = deployment.spec.replicas
    alone = _only_one(new, old)
    if alone is not None:
        return {} if alone.spec.replicas == wanted else {alone.metadata.name: wanted}
    if new is not None and _saturated(deployment, new):
        return {one.metadata.name: 0 for one in old if one.spec.replicas > 0}
    if deployment.spec.strategy.type != "RollingUpdate":
        return {}
    return _proportional(deployment, [one for one in (*old, *_listed(new)) if one.spec.replicas > 0])


def _listed(new: ReplicaSet | None) -> list[ReplicaSet]:
    return [] if new is None else [new]


def _only_one(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The one replica set that has pods, or the latest where none has; None where several have."""
    active = [one for one in (*old, *_listed(new)) if one.spec.replicas > 0]
    if len(active) == 1:
        return active[0]
    if active:
        return None
    return new or next(iter(reversed(oldest_first(old))), None)


def _saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    wanted = deployment.spec.replicas
    remembered = remembered_size(new, DESIRED_REPLICAS)
    return new.spec.replicas == wanted == remembered == new.status.available_replicas


def _proportional(deployment: Deployment, active: list[ReplicaSet]) -> Sizes:
    """Share the change by size, so that a rollout in flight keeps its mix; the largest takes what is left."""
    wanted = deployment.spec.replicas
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    change = allowed - total(active)
    ordered = _largest_first(active, newer_first=change > 0)
    sizes: Sizes = {}
    given = 0
    for one in ordered:
        share = _share(deployment, one, change, given)
        sizes[one.metadata.name] = one.spec.replicas + share
        given += share
    if ordered and change:
        first = ordered[0].metadata.name
        sizes[first] = max(0, sizes[first] + change - given)
    return sizes


def _largest_first(active: list[ReplicaSet], *, newer_first: bool) -> list[ReplicaSet]:
    by_age = oldest_first(active)
    if newer_first:
        by_age.reverse()
    return sorted(by_age, key=lambda one: -one.spec.replicas)


def _share(deployment: Deployment, one: ReplicaSet, change: int, given: int) -> int:
    if change in (0, given):
        return 0
    fraction = _fraction(deployment, one)
    return min(fraction, change - given) if change > 0 else max(fraction, change - given)


def _fraction(deployment: Deployment, one: ReplicaSet) -> int:
    if deployment.spec.replicas == 0:
        return -one.spec.replicas
    before = remembered_size(one, MAX_REPLICAS) or deployment.status.replicas
    if before == 0:
        return 0
    after = deployment.spec.replicas + max_surge(deployment)
    # Half a pod rounds up, as the stock controller rounds; sizes are never negative.
    return (2 * one.spec.replicas * after + before) // (2 * before) - one.spec.replicas


def remembered_size(one: ReplicaSet, annotation: str) -> int | None:
    """A size that an earlier reconciliation noted on the replica set."""
    text = one.metadata.annotations.get(annotation, "")
    return parse_integer(text, "int32") if text.isdigit() else None


def is_being_scaled(deployment: Deployment, replica_sets: Sequence[ReplicaSet]) -> bool:
    """Whether the wanted number changed since the replica sets were last given their sizes."""
    noted = [remembered_size(one, DESIRED_REPLICAS) for one in replica_sets if one.spec.replicas > 0]
    return any(size is not None and size != deployment.spec.replicas for size in noted)
