"""A simulated API server process that can crash and come back on the same disk."""

from __future__ import annotations

import asyncio

from vacate.apiserver.server import ApiServer
from vacate.client.client import Client
from vacate.errors import StoreError
from vacate.metrics import Metrics
from vacate.sim import parts
from vacate.sim.disk import SimDisk
from vacate.sim.network import Network
from vacate.sim.run import Sim
from vacate.store.memory import MemoryLog
from vacate.store.store import Store


class SimServer:
    """The server's process and its disk."""

    def __init__(self, sim: Sim, network: Network, disk_latency: tuple[float, float]) -> None:
        self._sim = sim
        self._network = network
        self._latency = disk_latency
        self._disk: SimDisk | None = None
        self._up = asyncio.Event()
        self._store: Store | None = None
        self._server: ApiServer | None = None
        self.log = MemoryLog()
        self.metrics = Metrics()

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
        self._disk = SimDisk(self.log, sim.clock, sim.stream("disk"), self._latency, sim.trace)
        self._store, self._server = parts.make_server(self._disk, sim.clock, sim.entropy, self.metrics)
        await self._store.open()
        self._network.server = self._server
        await parts.bootstrap(Client(self._network.link("bootstrap", parts.BOOTSTRAP)))
        self._up.set()

    async def crash(self) -> None:
        """Lose everything that is not on the disk, and all connections."""
        self._up.clear()
        self._network.server = None
        if self._disk is not None:
            self._disk.pull_plug()
        await self.store.aclose()

    async def stop(self) -> None:
        """End in good order."""
        self._up.clear()
        await self.store.aclose()
        self._network.server = None

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
