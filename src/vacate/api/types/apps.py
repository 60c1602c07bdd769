"""Projections of apps/v1."""

from __future__ import annotations

from typing import Any

import msgspec

from vacate.api.types.meta import Condition, LabelSelector, ObjectMeta, Projection


class ReplicaSetSpec(Projection, frozen=True):
    """How many pods of which template. The template stays a dict: pods are made from all of it."""

    replicas: int = 1
    min_ready_seconds: int = 0
    selector: LabelSelector = msgspec.field(default_factory=LabelSelector)
    template: dict[str, Any] = msgspec.field(default_factory=dict)


class ReplicaSetStatus(Projection, frozen=True):
    """How many pods there are."""

    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0
    conditions: list[Condition] = msgspec.field(default_factory=list)


class ReplicaSet(Projection, frozen=True, gc=True):
    """A replica set."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ReplicaSetSpec = msgspec.field(default_factory=ReplicaSetSpec)
    status: ReplicaSetStatus = msgspec.field(default_factory=ReplicaSetStatus)


class RollingUpdate(Projection, frozen=True):
    """Bounds of a rolling update, each a number or a percentage."""

    max_unavailable: int | str | None = None
    max_surge: int | str | None = None


class DeploymentStrategy(Projection, frozen=True):
    """RollingUpdate or Recreate."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Projection, frozen=True):
    """The wanted state."""

    replicas: int = 1
    selector: LabelSelector = msgspec.field(default_factory=LabelSelector)
    template: dict[str, Any] = msgspec.field(default_factory=dict)
    strategy: DeploymentStrategy = msgspec.field(default_factory=DeploymentStrategy)
    min_ready_seconds: int = 0
    revision_history_limit: int | None = 10
    paused: bool = False
    progress_deadline_seconds: int | None = 600


class DeploymentStatus(Projection, frozen=True):
    """The observed state."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: list[Condition] = msgspec.field(default_factory=list)


class Deployment(Projection, frozen=True, gc=True):
    """A deployment."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: DeploymentSpec = msgspec.field(default_factory=DeploymentSpec)
    status: DeploymentStatus = msgspec.field(default_factory=DeploymentStatus)
