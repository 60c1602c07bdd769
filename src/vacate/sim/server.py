"""A simulated API server process that can crash and come back on the same disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from vacate.admission.pods.forcedeletion import Guard
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.compaction import Compactor, Retention
from vacate.embedded.store.log import Record
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.store import Store
from vacate.errors import StoreError
from vacate.features import FeatureGates
from vacate.metrics import Metrics
from vacate.sim.disk import DiskCondition, SimDisk
from vacate.sim.network import Network
from vacate.sim.run import Sim


class SimServer:
    """The server's process and its disk.

    Without a retention the whole history is kept, so that invariants can be checked on it afterwards.
    """

    def __init__(
        self,
        sim: Sim,
        network: Network,
        disk_latency: tuple[float, float],
        retention: Retention | None = None,
        *,
        skew: float = 0.0,
        gates: FeatureGates | None = None,
        force_guard: Guard | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._sim = sim
        self._network = network
        self._latency = disk_latency
        # One source for all lives of the server: a restart must not give out the same uids again.
        self._entropy = sim.stream("server")
        self._retention = retention
        self._clock = sim.skewed_clock(skew) if skew else sim.clock
        self.gates = gates or FeatureGates()  # from its next start on
        self._force_guard = force_guard or Guard()
        self._disk: SimDisk | None = None
        self._starts = 0
        self._up = asyncio.Event()
        self._store: Store | None = None
        self._compaction: asyncio.Task[None] | None = None
        self.log = MemoryLog()
        self.metrics = metrics or Metrics(per_request=True)
        self.history: list[tuple[float, Record]] = []  # all that was ever written, and when
        self.condition = DiskCondition()  # of the disk, whatever server uses it
        self.written: Callable[[Record], None] = lambda _: None  # called for every record that is kept

    @property
    def store(self) -> Store:
        """What the running server stores; what the last one stored while it is down."""
        assert self._store is not None, "the server was never started"
        return self._store

    @property
    def up(self) -> bool:
        """Whether it answers."""
        return self._up.is_set()

    async def start(self) -> None:
        """Read the disk and begin to answer."""
        sim = self._sim
        self._starts += 1
        latencies = sim.stream("disk" if self._starts == 1 else f"disk, start {self._starts}")
        disk = self._disk = SimDisk(
            self.log, sim.clock, latencies, self._latency, sim.trace, self._keep, self.condition
        )
        parts = ServerParts(disk, self._clock, self._entropy, self.metrics, self.gates)
        server = await open_server(replace(parts, force_guard=self._force_guard))
        self._store = server.storage.store
        if self._retention is not None:
            compactor = Compactor(self._store, sim.clock, self._retention)
            self._compaction = sim.loop.create_task(compactor.run(), name="compaction")
        self._network.server = server
        self._up.set()

    def _keep(self, record: Record) -> None:
        self.history.append((self._sim.loop.time(), record))
        self.written(record)

    async def crash(self) -> None:
        """Lose everything that is not on the disk, and all connections."""
        if self._disk is not None:
            self._disk.cut_power()
        await self.stop()

    async def stop(self) -> None:
        """End: what was handed in is still written, unless the plug was pulled."""
        self._up.clear()
        self._network.server = None
        if self._compaction is not None:
            self._compaction.cancel()
            await asyncio.wait([self._compaction])
        await self.store.aclose()

    async def changed(self) -> None:
        """Return after the next commit, or when a server that was down is up again."""
        if not self.up:
            await self._up.wait()
            return
        store = self.store
        try:
            await store.wait_for(store.revision + 1)
        except StoreError:
            await self._up.wait()
