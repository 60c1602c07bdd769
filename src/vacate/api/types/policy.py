"""Projections of budgets, leases and priority classes."""

from __future__ import annotations

import datetime as dt

import msgspec

from vacate.api.types.meta import Condition, LabelSelector, ObjectMeta, Projection


class PodDisruptionBudgetSpec(Projection, frozen=True):
    """How many of which pods may be missing."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Projection, frozen=True):
    """What the disruption controller counted, and what evictions have taken since."""

    observed_generation: int = 0
    disrupted_pods: dict[str, dt.datetime] = msgspec.field(default_factory=dict)
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: list[Condition] = msgspec.field(default_factory=list)


class PodDisruptionBudget(Projection, frozen=True):
    """A pod disruption budget."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)


class LeaseSpec(Projection, frozen=True):
    """Who holds a lease, and since when."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: dt.datetime | None = None
    renew_time: dt.datetime | None = None
    lease_transitions: int = 0


class Lease(Projection, frozen=True):
    """A lease."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class PriorityClass(Projection, frozen=True):
    """A named priority."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"
