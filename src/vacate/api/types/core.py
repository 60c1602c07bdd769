"""Projections of core/v1: pods, nodes, namespaces and small neighbours."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from vacate.api.types.meta import Condition, ObjectMeta, Projection, condition

TERMINAL_PHASES = ("Succeeded", "Failed")


class Taint(Projection, frozen=True):
    """A node's mark that keeps pods away."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: dt.datetime | None = None


class Toleration(Projection, frozen=True):
    """A pod's consent to a taint."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class Resources(Projection, frozen=True):
    """What a container asks for, as quantities."""

    requests: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    limits: dict[str, str | int | float] = msgspec.field(default_factory=dict)


class ContainerPort(Projection, frozen=True):
    """A port; only the host's side matters to a scheduler."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Projection, frozen=True):
    """A container of a pod."""

    name: str = ""
    image: str = ""
    resources: Resources = msgspec.field(default_factory=Resources)
    ports: list[ContainerPort] = msgspec.field(default_factory=list)
    restart_policy: str = ""


class TopologySpread(Projection, frozen=True):
    """One topology spread constraint."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: dict[str, Any] | None = None
    min_domains: int | None = None
    match_label_keys: list[str] = msgspec.field(default_factory=list)
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class ClaimSource(Projection, frozen=True):
    """The claim of a volume."""

    claim_name: str = ""


class EphemeralSource(Projection, frozen=True):
    """A volume whose claim Kubernetes makes for this pod alone."""


class Volume(Projection, frozen=True):
    """A volume of a pod: whether its data is lost with the pod, and which claim it uses."""

    name: str = ""
    empty_dir: dict[str, Any] | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class EvictionInterceptor(Projection, frozen=True):
    """One entry of `spec.evictionInterceptors`."""

    name: str = ""


class EvictionResponder(Projection, frozen=True):
    """One entry of `spec.evictionResponders`."""

    name: str = ""
    priority: int = 0


class PodSpec(Projection, frozen=True):
    """What a pod wants."""

    node_name: str = ""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: dict[str, Any] | None = None
    tolerations: list[Toleration] = msgspec.field(default_factory=list)
    topology_spread_constraints: list[TopologySpread] = msgspec.field(default_factory=list)
    containers: list[Container] = msgspec.field(default_factory=list)
    init_containers: list[Container] = msgspec.field(default_factory=list)
    volumes: list[Volume] = msgspec.field(default_factory=list)
    overhead: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    resources: Resources | None = None
    priority: int | None = None
    priority_class_name: str = ""
    restart_policy: str = "Always"
    scheduler_name: str = "default-scheduler"
    scheduling_gates: list[dict[str, str]] = msgspec.field(default_factory=list)
    termination_grace_period_seconds: int | None = None
    eviction_interceptors: list[EvictionInterceptor] = msgspec.field(default_factory=list)
    eviction_responders: list[EvictionResponder] = msgspec.field(default_factory=list)
    scheduling_group: dict[str, Any] | None = None


class ContainerStatus(Projection, frozen=True):
    """What a container does."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    container_id: str = msgspec.field(default="", name="containerID")


class PodStatus(Projection, frozen=True):
    """What a pod does."""

    phase: str = ""
    reason: str = ""
    start_time: dt.datetime | None = None
    conditions: list[Condition] = msgspec.field(default_factory=list)
    container_statuses: list[ContainerStatus] = msgspec.field(default_factory=list)
    init_container_statuses: list[ContainerStatus] = msgspec.field(default_factory=list)
    nominated_node_name: str = ""


class Pod(Projection, frozen=True):
    """A pod."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def terminating(self) -> bool:
        """Whether deletion has begun."""
        return self.metadata.deletion_timestamp is not None

    @property
    def terminal(self) -> bool:
        """Whether the pod has terminated for good."""
        return self.status.phase in TERMINAL_PHASES

    @property
    def claims(self) -> list[str]:
        """The names of the PersistentVolumeClaims that it uses, those of ephemeral volumes too."""
        sources = (volume.persistent_volume_claim for volume in self.spec.volumes)
        return [*(source.claim_name for source in sources if source is not None), *self.claims_of_its_own]

    @property
    def claims_of_its_own(self) -> list[str]:
        """The names of the claims that Kubernetes makes for its ephemeral volumes."""
        return [f"{self.metadata.name}-{one.name}" for one in self.spec.volumes if one.ephemeral is not None]

    @property
    def ready(self) -> bool:
        """Whether the Ready condition is True."""
        found = condition(self.status.conditions, "Ready")
        return found is not None and found.status == "True"


class NodeSpec(Projection, frozen=True):
    """What an admin says of a node."""

    unschedulable: bool = False
    taints: list[Taint] = msgspec.field(default_factory=list)


class NodeInfo(Projection, frozen=True):
    """What a node says of its system."""

    boot_id: str = msgspec.field(default="", name="bootID")


class NodeStatus(Projection, frozen=True):
    """What a node says of itself."""

    capacity: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    allocatable: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    conditions: list[Condition] = msgspec.field(default_factory=list)
    node_info: NodeInfo = msgspec.field(default_factory=NodeInfo)
    volumes_in_use: list[str] = msgspec.field(default_factory=list)


class Node(Projection, frozen=True):
    """A node."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class NamespaceSpec(Projection, frozen=True):
    """Only the finalizers."""

    finalizers: list[str] = msgspec.field(default_factory=list)


class NamespaceStatus(Projection, frozen=True):
    """Active or Terminating."""

    phase: str = ""
    conditions: list[Condition] = msgspec.field(default_factory=list)


class Namespace(Projection, frozen=True):
    """A namespace."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: NamespaceSpec = msgspec.field(default_factory=NamespaceSpec)
    status: NamespaceStatus = msgspec.field(default_factory=NamespaceStatus)


class ConfigMap(Projection, frozen=True):
    """A config map, without its data."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class ServiceAccount(Projection, frozen=True):
    """A service account."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class Event(Projection, frozen=True):
    """Something that happened."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    reason: str = ""
    message: str = ""
    type: str = ""
    count: int = 0
    first_timestamp: dt.datetime | None = None
    last_timestamp: dt.datetime | None = None
    event_time: dt.datetime | None = None
