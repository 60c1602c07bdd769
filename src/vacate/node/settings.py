"""How simulated nodes behave, for all of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

from vacate.node.shape import LEASE_SECONDS
from vacate.node.timings import PodTimings


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Times of nodes and of the pods on them."""

    heartbeat_seconds: float = 10.0
    lease_seconds: int = LEASE_SECONDS
    timings: PodTimings = field(default_factory=PodTimings)
    workers: int = 16  # pods that are written about at a time
