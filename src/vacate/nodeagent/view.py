"""What the agent reads of a pod. The status stays a dict: the agent writes it, as differences."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from vacate.api.integers import MAX_INT32
from vacate.api.objects import Obj
from vacate.api.times import parse_time
from vacate.api.types.core import TERMINAL_PHASES, Resources, Toleration
from vacate.api.types.meta import ObjectMeta, Projection
from vacate.api.untyped import maps

DEFAULT_GRACE_SECONDS = 30


class Probe(Projection, frozen=True):
    """A readiness, liveness or startup probe."""

    exec: Obj | None = None
    http_get: Obj | None = None
    tcp_socket: Obj | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class Lifecycle(Projection, frozen=True):
    """Hooks, as the API has them."""

    post_start: Obj | None = None
    pre_stop: Obj | None = None


class VolumeMount(Projection, frozen=True):
    """Where a container wants a volume."""

    name: str = ""
    mount_path: str = ""
    sub_path: str = ""
    read_only: bool = False


class AgentContainer(Projection, frozen=True):
    """A container as a process."""

    name: str = ""
    image: str = ""
    command: list[str] = msgspec.field(default_factory=list)
    args: list[str] = msgspec.field(default_factory=list)
    working_dir: str = ""
    env: list[Obj] = msgspec.field(default_factory=list)
    env_from: list[Obj] = msgspec.field(default_factory=list)
    ports: list[Obj] = msgspec.field(default_factory=list)
    resources: Resources = msgspec.field(default_factory=Resources)
    volume_mounts: list[VolumeMount] = msgspec.field(default_factory=list)
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle = msgspec.field(default_factory=Lifecycle)
    restart_policy: str = ""
    security_context: Obj | None = None

    @property
    def sidecar(self) -> bool:
        """Of an init container: whether it goes on beside the others."""
        return self.restart_policy == "Always"


class ReadinessGate(Projection, frozen=True):
    """A condition that must hold, too, before the pod counts as ready."""

    condition_type: str = ""


class AgentPodSpec(Projection, frozen=True):
    """What the pod wants of its node."""

    node_name: str = ""
    restart_policy: str = "Always"
    service_account_name: str = ""
    hostname: str = ""
    containers: list[AgentContainer] = msgspec.field(default_factory=list)
    init_containers: list[AgentContainer] = msgspec.field(default_factory=list)
    volumes: list[Obj] = msgspec.field(default_factory=list)
    tolerations: list[Toleration] = msgspec.field(default_factory=list)
    readiness_gates: list[ReadinessGate] = msgspec.field(default_factory=list)
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    priority: int | None = None
    eviction_interceptors: list[Obj] = msgspec.field(default_factory=list)
    eviction_responders: list[Obj] = msgspec.field(default_factory=list)
    security_context: Obj | None = None


class AgentPod(Projection, frozen=True, gc=True):
    """A pod as its agent sees it."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: AgentPodSpec = msgspec.field(default_factory=AgentPodSpec)
    status: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def phase(self) -> str:
        """The phase that the API shows."""
        return str(self.status.get("phase", ""))

    @property
    def conditions(self) -> dict[str, Obj]:
        """By type, those that the API shows."""
        return {str(one.get("type")): one for one in maps(self.status.get("conditions"))}

    @property
    def terminal(self) -> bool:
        """Whether the API shows that the pod has terminated for good."""
        return self.phase in TERMINAL_PHASES

    @property
    def rejected(self) -> bool:
        """Whether it was turned away because its node went down: it never ran."""
        return self.terminal and self.status.get("reason") == "NodeShutdown"

    @property
    def deleting(self) -> bool:
        """Whether deletion has begun."""
        return self.metadata.deletion_timestamp is not None

    @property
    def grace_seconds(self) -> float:
        """How long the containers have to end once they are asked to."""
        asked = self.metadata.deletion_grace_period_seconds if self.deleting else None
        wanted = self.spec.termination_grace_period_seconds
        return float(next((one for one in (asked, wanted) if one is not None), DEFAULT_GRACE_SECONDS))

    @property
    def active_until(self) -> dt.datetime | None:
        """When its active deadline is over; None where it has none, or was not started yet."""
        seconds, started = self.spec.active_deadline_seconds, self.status.get("startTime")
        if seconds is None or not isinstance(started, str):
            return None
        return parse_time(started) + dt.timedelta(seconds=min(seconds, MAX_INT32))

    @property
    def all_containers(self) -> list[AgentContainer]:
        """Init containers first."""
        return [*self.spec.init_containers, *self.spec.containers]

    def container(self, name: str) -> AgentContainer | None:
        """The container of that name."""
        return next((one for one in self.all_containers if one.name == name), None)
