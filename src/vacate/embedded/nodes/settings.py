"""How simulated nodes behave, for all of a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from vacate.embedded.nodes.projections import SimulatedPod
from vacate.embedded.nodes.timings import PodTimings


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Times of nodes and of the pods on them."""

    heartbeat_seconds: float = 10.0
    timings: PodTimings = field(default_factory=PodTimings)
    timings_of: Callable[[SimulatedPod], PodTimings] | None = None  # of each pod, in place of `timings`
    workers: int = 16  # pods that are written about at a time
    # The Nodes are there already, and stay as they are: nothing registers them, renews leases or reports
    # conditions, and pods that run and are ready keep the status with which they were found.
    quiet: bool = False

    @property
    def lease_seconds(self) -> int:
        """How long a node counts as alive without a heartbeat: four of them, as kubelets have it."""
        return max(math.ceil(4 * self.heartbeat_seconds), 1)
