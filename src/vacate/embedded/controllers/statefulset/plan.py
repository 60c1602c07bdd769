"""Which pods of a StatefulSet are made and deleted next.

A member has its name for as long as its pod object exists: **a terminating pod, wherever it is and however
long it takes, keeps its place**. Only its node, or a user who knows that its processes have ended, removes
the object, and only then is the member made again. So no identity ever runs twice.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

from vacate.api.terminationreason import DECOMMISSIONED, UPDATE
from vacate.api.types import Pod, StatefulSet
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH
from vacate.embedded.controllers.statefulset.identity import has_identity
from vacate.kube.statefulsets import first_ordinal, is_healthy, ordinal_of, update_limit


@dataclass(frozen=True, slots=True)
class Creation:
    """A member to be made."""

    ordinal: int
    updated: bool  # from the present template, or from the one before


@dataclass(frozen=True, slots=True)
class Deletion:
    """A member to be deleted, with its own grace period."""

    pod: Pod
    reason: str = ""


@dataclass(slots=True)
class StatefulSetPlan:
    """What is done now."""

    create: list[Creation] = field(default_factory=list)
    delete: list[Deletion] = field(default_factory=list)
    relabel: list[Pod] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether nothing is to be done."""
        return not (self.create or self.delete or self.relabel)


def plan_members(
    stateful_set: StatefulSet, update: str, pods: Sequence[Pod], now: dt.datetime
) -> StatefulSetPlan:
    """The next step; `update` is the name of the present template's revision."""
    plan = StatefulSetPlan()
    if stateful_set.metadata.deletion_timestamp is not None:
        return plan
    ordered = stateful_set.spec.pod_management_policy != "Parallel"
    members, condemned = split_members(stateful_set, pods)
    if _fill(plan, stateful_set, members, ordered, now) and ordered:
        return plan
    if _shrink(plan, stateful_set, members, condemned, ordered, now) and ordered:
        return plan
    if plan.empty and stateful_set.spec.update_strategy.type == "RollingUpdate":
        _update(plan, stateful_set, update, members, now, ordered)
    return plan


def split_members(stateful_set: StatefulSet, pods: Sequence[Pod]) -> tuple[dict[int, Pod], list[Pod]]:
    """The pods of wanted ordinals, and the others, of which the highest goes first."""
    start, known = first_ordinal(stateful_set), {}
    for pod in pods:
        ordinal = ordinal_of(stateful_set, pod)
        if ordinal is not None:
            known[ordinal] = pod
    wanted = range(start, start + stateful_set.spec.replicas)
    members = {ordinal: known[ordinal] for ordinal in wanted if ordinal in known}
    condemned = [known[ordinal] for ordinal in sorted(known, reverse=True) if ordinal not in wanted]
    return members, condemned


def _fill(
    plan: StatefulSetPlan, stateful_set: StatefulSet, members: dict[int, Pod], ordered: bool, now: dt.datetime
) -> bool:
    """Make what is missing, from the lowest ordinal up; True where the next ordinal has to wait."""
    start = first_ordinal(stateful_set)
    for ordinal in range(start, start + stateful_set.spec.replicas):
        pod = members.get(ordinal)
        if pod is None:
            plan.create.append(Creation(ordinal, _is_updated(stateful_set, ordinal)))
            if ordered:
                return True
            continue
        if pod.terminal and not pod.terminating:
            plan.delete.append(Deletion(pod))
            if ordered:
                return True
            continue
        if not pod.terminating and not has_identity(pod, ordinal):
            plan.relabel.append(pod)
        if ordered and not is_healthy(stateful_set, pod, now):
            return True
    return False


def _is_updated(stateful_set: StatefulSet, ordinal: int) -> bool:
    strategy = stateful_set.spec.update_strategy
    partition = strategy.rolling_update.partition if strategy.rolling_update else 0
    return strategy.type != "RollingUpdate" or ordinal >= first_ordinal(stateful_set) + partition


def _shrink(
    plan: StatefulSetPlan,
    stateful_set: StatefulSet,
    members: dict[int, Pod],
    condemned: Sequence[Pod],
    ordered: bool,
    now: dt.datetime,
) -> bool:
    """Delete what is no longer wanted, from the highest ordinal down; True where the next has to wait."""
    unhealthy = [
        pod for pod in (*members.values(), *reversed(condemned)) if not is_healthy(stateful_set, pod, now)
    ]
    lowest = min(unhealthy, key=lambda pod: ordinal_of(stateful_set, pod) or 0, default=None)
    for pod in condemned:
        if pod.terminating:
            if ordered:
                return True
            continue
        # An unhealthy member keeps others from going, unless it is the one that goes.
        if ordered and pod is not lowest and not is_healthy(stateful_set, pod, now):
            return True
        plan.delete.append(Deletion(pod, DECOMMISSIONED))
        if ordered:
            return True
    return False


def _update(
    plan: StatefulSetPlan,
    stateful_set: StatefulSet,
    update: str,
    members: dict[int, Pod],
    now: dt.datetime,
    ordered: bool,
) -> None:
    """Delete the highest members of an older revision, as many as may be down.

    Where members need no order, those that are down anyway cost nothing and go first.
    """
    rolling = stateful_set.spec.update_strategy.rolling_update
    lowest = first_ordinal(stateful_set) + (rolling.partition if rolling else 0)
    highest_first = [members[one] for one in sorted(members, reverse=True) if one >= lowest]
    older = [
        pod
        for pod in highest_first
        if pod.metadata.labels.get(REVISION_HASH) != update and not pod.terminating
    ]
    healthy = {pod.metadata.uid for pod in members.values() if is_healthy(stateful_set, pod, now)}
    may_go = max(update_limit(stateful_set) - (stateful_set.spec.replicas - len(healthy)), 0)
    down = [] if ordered else [pod for pod in older if pod.metadata.uid not in healthy]
    up = [pod for pod in older if ordered or pod.metadata.uid in healthy]
    plan.delete += [Deletion(pod, UPDATE) for pod in (*down, *up[:may_go])]
