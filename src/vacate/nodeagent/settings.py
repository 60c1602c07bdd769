"""What a person may choose for an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.nodeagent.pressure.thresholds import PressureConfig
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.logind import DROP_INS

TAINT = "vacate.dev/process"
"""Key of the taint by which a node keeps pods away that do not mean it."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """One agent of one node."""

    name: str
    folder: Path
    address: str = "127.0.0.1"  # of the node, in its status
    loopback_pods: bool = False  # each pod gets a loopback address of its own, instead of the node's
    taint: bool = True
    # A Node of this name that is not this folder's; only where there is no other agent.
    take_over: bool = False
    shutdown: ShutdownConfig = field(default_factory=ShutdownConfig)
    dialect: Dialect = EVICTION_REQUEST  # of the API by which a shutdown requests evictions
    pressure: PressureConfig = field(default_factory=PressureConfig)
    logind_drop_ins: Path = DROP_INS
    stop_pods: bool = False  # when the agent ends, end its pods too, as a machine that goes down would
    throw_away: bool = False  # its pods end with the agent's process, however that ends: nobody comes back
    pods: int = 110
    port: int = 0  # where API servers read logs; none
    heartbeat_seconds: float = 10.0
    labels: Mapping[str, str] = field(default_factory=dict)
    base_env: Mapping[str, str] = field(default_factory=dict)

    @property
    def pods_folder(self) -> Path:
        """Where the pods' folders lie."""
        return self.folder / "pods"

    @property
    def runtime_folder(self) -> Path:
        """Where the runtime keeps its record."""
        return self.folder / "runtime"
