"""How simulated nodes behave, for all of a cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vacate.embedded.nodes.timings import PodTimings


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Times of nodes and of the pods on them."""

    heartbeat_seconds: float = 10.0
    timings: PodTimings = field(default_factory=PodTimings)
    workers: int = 16  # pods that are written about at a time

    @property
    def lease_seconds(self) -> int:
        """How long a node counts as alive without a heartbeat: four of them, as kubelets have it."""
        return max(math.ceil(4 * self.heartbeat_seconds), 1)
