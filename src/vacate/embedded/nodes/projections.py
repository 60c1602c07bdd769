"""What a node reads of a pod. The status stays a dict: the node writes it, as differences."""

from __future__ import annotations

from typing import Any

import msgspec

from vacate.api.types.core import TERMINAL_PHASES, Volume
from vacate.api.types.meta import ObjectMeta, Projection

DEFAULT_GRACE_SECONDS = 30


BY_NODE = "node"
"""The index of pods by their node."""


class SimulatedContainer(Projection, frozen=True):
    """A container as far as it can be simulated."""

    name: str = ""
    image: str = ""
    restart_policy: str = ""


class ReadinessGate(Projection, frozen=True):
    """A condition that must hold, too, before the pod counts as ready."""

    condition_type: str = ""


class SimulatedPodSpec(Projection, frozen=True):
    """What the pod wants of its node."""

    node_name: str = ""
    restart_policy: str = "Always"
    containers: list[SimulatedContainer] = msgspec.field(default_factory=list)
    init_containers: list[SimulatedContainer] = msgspec.field(default_factory=list)
    readiness_gates: list[ReadinessGate] = msgspec.field(default_factory=list)
    termination_grace_period_seconds: int | None = None
    host_network: bool = False
    volumes: list[Volume] = msgspec.field(default_factory=list)


class SimulatedPod(Projection, frozen=True, gc=True):
    """A pod as its simulated node sees it."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: SimulatedPodSpec = msgspec.field(default_factory=SimulatedPodSpec)
    status: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def phase(self) -> str:
        """The phase that the API shows."""
        return str(self.status.get("phase", ""))

    @property
    def terminal(self) -> bool:
        """Whether the API shows that the pod has terminated for good."""
        return self.phase in TERMINAL_PHASES

    @property
    def deleting(self) -> bool:
        """Whether deletion has begun."""
        return self.metadata.deletion_timestamp is not None

    @property
    def claims(self) -> list[str]:
        """The names of the PersistentVolumeClaims that it uses."""
        sources = (volume.persistent_volume_claim for volume in self.spec.volumes)
        return [source.claim_name for source in sources if source is not None]

    @property
    def grace_seconds(self) -> int:
        """How long the containers have from now on if they must stop: never less than a second."""
        asked = self.metadata.deletion_grace_period_seconds if self.deleting else None
        wanted = self.spec.termination_grace_period_seconds
        grace = next((s for s in (asked, wanted) if s is not None), DEFAULT_GRACE_SECONDS)
        return max(grace, 1)
