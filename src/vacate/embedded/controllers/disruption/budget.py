"""The arithmetic of pod disruption budgets, as the disruption controller does it.

Two steps: `expected_pods` says how many pods there should be and how many of them must be healthy,
`budget_status` counts what there is and says what the budget's status becomes. Neither looks anything up:
the scales of controllers come in through a function, the time as an argument.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from vacate.api.selectors.labels import selector_of
from vacate.api.times import after
from vacate.api.types import Condition, OwnerReference, Pod, PodDisruptionBudget, condition
from vacate.api.types.policy import PodDisruptionBudgetStatus
from vacate.kube.budgets import (
    DISRUPTION_ALLOWED,
    INSUFFICIENT_PODS,
    SUFFICIENT_PODS,
    SYNC_FAILED,
    desired_healthy,
)
from vacate.kube.intorpercent import InvalidIntOrPercent

DELETION_TIMEOUT = dt.timedelta(minutes=2)
"""How long an approved eviction is believed in while its pod shows no sign of deletion."""


# A disruption is still believed in at the very moment at which it times out; look again just after.
_JUST_AFTER = dt.timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class ControllerScale:
    """How many pods one controller wants. For a ReplicaSet of a Deployment this is the Deployment."""

    uid: str
    replicas: int


@dataclass(frozen=True, slots=True)
class SyncFailure:
    """The budget cannot be calculated; nothing may be disrupted until it can."""

    message: str


@dataclass(frozen=True, slots=True)
class ExpectedPods:
    """How many pods there should be, how many must stay healthy, and which have no controller."""

    count: int
    desired_healthy: int
    unmanaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BudgetEvent:
    """An event to record about the budget, or about a pod where one is named."""

    type: str  # Normal, Warning
    reason: str
    message: str
    pod: Pod | None = None


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """What the budget's status becomes, and when to count again although nothing changed."""

    status: PodDisruptionBudgetStatus
    changed: bool
    events: tuple[BudgetEvent, ...] = ()
    recheck_at: dt.datetime | None = None


ScaleOf = Callable[[OwnerReference, str], ControllerScale | SyncFailure | None]
"""Finds the scale behind a pod's controller reference in a namespace; None where no controller is found."""


def expected_pods(
    pdb: PodDisruptionBudget, pods: Sequence[Pod], scale_of: ScaleOf
) -> ExpectedPods | SyncFailure:
    """How many pods the budget's pods should be and how many must be healthy; percentages round up."""
    spec = pdb.spec
    if spec.max_unavailable is None and isinstance(spec.min_available, int):
        return ExpectedPods(len(pods), spec.min_available)
    if spec.max_unavailable is None and spec.min_available is None:
        return ExpectedPods(0, 0)
    scale = _expected_scale(pods, scale_of)
    if isinstance(scale, SyncFailure):
        return scale
    count, unmanaged = scale
    try:
        return ExpectedPods(count, desired_healthy(pdb, count), unmanaged)
    except InvalidIntOrPercent as wrong:
        return SyncFailure(str(wrong))


def budget_status(
    pdb: PodDisruptionBudget, pods: Sequence[Pod], expected: ExpectedPods | SyncFailure, now: dt.datetime
) -> BudgetStatus:
    """The status that follows from the pods that the budget selects."""
    found = () if pods else (BudgetEvent("Normal", "NoPods", "No matching pods found"),)
    if isinstance(expected, SyncFailure):
        return _failed(pdb, expected, found, now)
    disrupted, overdue = pending_disruptions(pods, pdb.status.disrupted_pods, now)
    healthy = count_healthy(pods, disrupted, now)
    allowed = max(healthy - expected.desired_healthy, 0) if expected.count > 0 else 0
    status = PodDisruptionBudgetStatus(
        observed_generation=pdb.metadata.generation,
        disrupted_pods=disrupted,
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=expected.desired_healthy,
        expected_pods=expected.count,
        conditions=conditions_for(
            pdb.status.conditions, allowed_condition(allowed, pdb.metadata.generation), now
        ),
    )
    return BudgetStatus(
        status=status,
        changed=not _up_to_date(pdb, status),
        events=(*found, *_unmanaged_events(pdb, expected), *_overdue_events(pdb, overdue)),
        recheck_at=after(min(disrupted.values()), DELETION_TIMEOUT + _JUST_AFTER) if disrupted else None,
    )


def pending_disruptions(
    pods: Sequence[Pod], disrupted: Mapping[str, dt.datetime], now: dt.datetime
) -> tuple[dict[str, dt.datetime], tuple[Pod, ...]]:
    """The approved evictions that are still to be seen, and the pods that outlived theirs."""
    kept: dict[str, dt.datetime] = {}
    overdue = []
    for pod in pods:
        since = disrupted.get(pod.metadata.name)
        if since is None or pod.terminating:
            continue
        if after(since, DELETION_TIMEOUT) < now:
            overdue.append(pod)
        else:
            kept[pod.metadata.name] = since
    return kept, tuple(overdue)


def count_healthy(pods: Iterable[Pod], disrupted: Mapping[str, dt.datetime], now: dt.datetime) -> int:
    """The ready pods that are neither being deleted nor about to be."""
    return sum(pod.ready and not pod.terminating and not _going(pod, disrupted, now) for pod in pods)


def allowed_condition(allowed: int, observed_generation: int) -> Condition:
    """What the DisruptionAllowed condition says for that many disruptions."""
    return Condition(
        type=DISRUPTION_ALLOWED,
        status="True" if allowed > 0 else "False",
        reason=SUFFICIENT_PODS if allowed > 0 else INSUFFICIENT_PODS,
        observed_generation=observed_generation,
    )


def conditions_for(conditions: Sequence[Condition], new: Condition, now: dt.datetime) -> list[Condition]:
    """The conditions with one of them set; its transition time moves only when its status does."""
    old = condition(conditions, new.type)
    moved = old is None or old.status != new.status or old.last_transition_time is None
    since = now.replace(microsecond=0) if moved or old is None else old.last_transition_time
    new = msgspec.structs.replace(new, last_transition_time=since)
    if old is None:
        return [*conditions, new]
    return [new if one.type == new.type else one for one in conditions]


def _expected_scale(pods: Sequence[Pod], scale_of: ScaleOf) -> tuple[int, tuple[str, ...]] | SyncFailure:
    """The sum of the scales of all controllers of the pods, and the pods that have none."""
    scales: dict[str, int] = {}
    unmanaged = []
    for pod in pods:
        ref = pod.metadata.controller
        if ref is None:
            unmanaged.append(pod.metadata.name)
            continue
        if ref.uid in scales:
            continue
        found = scale_of(ref, pod.metadata.namespace)
        if found is None:
            return SyncFailure(f'found no controllers for pod "{pod.metadata.name}"')
        if isinstance(found, SyncFailure):
            return found
        scales[found.uid] = found.replicas
    return sum(scales.values()), tuple(unmanaged)


def _going(pod: Pod, disrupted: Mapping[str, dt.datetime], now: dt.datetime) -> bool:
    since = disrupted.get(pod.metadata.name)
    return since is not None and after(since, DELETION_TIMEOUT) > now


def _failed(
    pdb: PodDisruptionBudget, failure: SyncFailure, found: tuple[BudgetEvent, ...], now: dt.datetime
) -> BudgetStatus:
    """Allow nothing and say why; the counts stay as they were, since nobody can vouch for new ones."""
    failed = Condition(
        type=DISRUPTION_ALLOWED,
        status="False",
        reason=SYNC_FAILED,
        message=failure.message,
        observed_generation=pdb.status.observed_generation,
    )
    status = msgspec.structs.replace(
        pdb.status, disruptions_allowed=0, conditions=conditions_for(pdb.status.conditions, failed, now)
    )
    event = BudgetEvent(
        "Warning",
        "CalculateExpectedPodCountFailed",
        f"Failed to calculate the number of expected pods: {failure.message}",
    )
    return BudgetStatus(status, status != pdb.status, (*found, event))


def _up_to_date(pdb: PodDisruptionBudget, new: PodDisruptionBudgetStatus) -> bool:
    """Whether the old status says the same; other conditions and the condition's message do not count."""
    old = pdb.status
    had = condition(old.conditions, DISRUPTION_ALLOWED)
    has = condition(new.conditions, DISRUPTION_ALLOWED)
    if had is None or has is None or (had.status, had.reason) != (has.status, has.reason):
        return False
    return msgspec.structs.replace(old, conditions=[]) == msgspec.structs.replace(new, conditions=[])


def _unmanaged_events(pdb: PodDisruptionBudget, expected: ExpectedPods) -> tuple[BudgetEvent, ...]:
    if not expected.unmanaged:
        return ()
    selector = selector_of(pdb.spec.selector)
    message = (
        f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. "
        "As a result, the status of the PDB cannot be calculated correctly, which may result in "
        'undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to '
        "an integer value."
    )
    return (BudgetEvent("Warning", "UnmanagedPods", message),)


def _overdue_events(pdb: PodDisruptionBudget, overdue: Sequence[Pod]) -> tuple[BudgetEvent, ...]:
    name = f"{pdb.metadata.namespace}/{pdb.metadata.name}"
    message = f"Pod was expected by PDB {name} to be deleted but it wasn't"
    return tuple(BudgetEvent("Warning", "NotDeleted", message, pod) for pod in overdue)
