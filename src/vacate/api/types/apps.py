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


class StatefulSetRollingUpdate(Projection, frozen=True):
    """Which ordinals a rolling update leaves alone, and how many pods may be unavailable during it."""

    partition: int = 0
    max_unavailable: int | str | None = None


class StatefulSetUpdateStrategy(Projection, frozen=True):
    """RollingUpdate or OnDelete."""

    type: str = "RollingUpdate"
    rolling_update: StatefulSetRollingUpdate | None = None


class StatefulSetOrdinals(Projection, frozen=True):
    """At which number the ordinals begin."""

    start: int = 0


class StatefulSetSpec(Projection, frozen=True):
    """How many pods with an identity of their own."""

    replicas: int = 1
    selector: LabelSelector = msgspec.field(default_factory=LabelSelector)
    template: dict[str, Any] = msgspec.field(default_factory=dict)
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: StatefulSetUpdateStrategy = msgspec.field(default_factory=StatefulSetUpdateStrategy)
    ordinals: StatefulSetOrdinals | None = None
    min_ready_seconds: int = 0
    revision_history_limit: int | None = 10
    volume_claim_templates: list[dict[str, Any]] = msgspec.field(default_factory=list)


class StatefulSetStatus(Projection, frozen=True):
    """How many pods there are, and of which revisions."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None
    conditions: list[Condition] = msgspec.field(default_factory=list)


class StatefulSet(Projection, frozen=True, gc=True):
    """A stateful set."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: StatefulSetSpec = msgspec.field(default_factory=StatefulSetSpec)
    status: StatefulSetStatus = msgspec.field(default_factory=StatefulSetStatus)


class DaemonSetUpdateStrategy(Projection, frozen=True):
    """RollingUpdate or OnDelete."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DaemonSetSpec(Projection, frozen=True):
    """A pod for every node that takes it."""

    selector: LabelSelector = msgspec.field(default_factory=LabelSelector)
    template: dict[str, Any] = msgspec.field(default_factory=dict)
    update_strategy: DaemonSetUpdateStrategy = msgspec.field(default_factory=DaemonSetUpdateStrategy)
    min_ready_seconds: int = 0
    revision_history_limit: int | None = 10


class DaemonSetStatus(Projection, frozen=True):
    """On how many nodes pods are wanted and run."""

    observed_generation: int = 0
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    collision_count: int | None = None
    conditions: list[Condition] = msgspec.field(default_factory=list)


class DaemonSet(Projection, frozen=True, gc=True):
    """A daemon set."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: DaemonSetSpec = msgspec.field(default_factory=DaemonSetSpec)
    status: DaemonSetStatus = msgspec.field(default_factory=DaemonSetStatus)


class ControllerRevision(Projection, frozen=True, gc=True):
    """What the template of a stateful or daemon set was at some time."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    revision: int = 0
