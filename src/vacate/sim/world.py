"""A whole cluster in virtual time: API server, controllers and simulated nodes, each of which can fail.

async with World(sim, nodes=3) as world:
    await world.client.create(DEPLOYMENTS, deployment("web"))
    await world.until(lambda: len(world.ready_pods()) == 3)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from vacate.api.kinds import PODS, Kind
from vacate.api.objects import Obj
from vacate.apiserver.stored import decode
from vacate.client.client import Client
from vacate.errors import OutOfTime
from vacate.node.pool import NodePool
from vacate.node.settings import NodeSettings
from vacate.node.shape import NodeShape, shapes
from vacate.runtime.manager import Manager
from vacate.sim import parts
from vacate.sim.network import Network
from vacate.sim.process import Process
from vacate.sim.run import Sim
from vacate.sim.server import SimServer
from vacate.store.types import Key


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """How a world is made; latencies are ranges of seconds."""

    nodes: int = 3
    zones: int = 3
    latency: tuple[float, float] = (0.0005, 0.005)
    disk: tuple[float, float] = (0.0005, 0.003)
    node: NodeSettings = field(default_factory=NodeSettings)
    controllers: bool = True


class World:
    """The cluster, verbs to break it, and words to expect things of it."""

    def __init__(self, sim: Sim, settings: WorldSettings | None = None) -> None:
        self.sim = sim
        self.settings = settings = settings or WorldSettings()
        self.network = Network(sim.clock, sim.stream("network"), settings.latency)
        self.server = SimServer(sim, self.network, settings.disk)
        self.client = self.client_of("admin")
        self.controllers = Process("controllers", self.network, self._build_controllers)
        self.nodes = Process("nodes", self.network, self._build_nodes)
        self.pool: NodePool | None = None
        self._shapes: list[NodeShape] = shapes(settings.nodes, zones=settings.zones)

    async def __aenter__(self) -> World:
        await self.server.start()
        await self.nodes.start()
        if self.settings.controllers:
            await self.controllers.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in (self.controllers, self.nodes):
            await process.crash()
        await self.server.stop()

    # What is there

    def client_of(self, name: str) -> Client:
        """A client with an administrator's rights over a link of its own."""
        return Client(self.network.link(name, parts.ADMIN), user_agent=name)

    def list(self, kind: Kind, namespace: str = "") -> list[Obj]:
        """The committed objects of a kind, read past the API."""
        return [decode(kind, entry) for entry in self.server.store.list(kind.resource, namespace).entries]

    def get(self, kind: Kind, name: str, namespace: str = "") -> Obj | None:
        """A committed object, read past the API."""
        entry = self.server.store.get(Key(kind.resource, namespace, name))
        return None if entry is None else decode(kind, entry)

    def ready_pods(self, namespace: str = "default") -> list[Obj]:
        """The pods that are ready and not on their way out."""
        return [pod for pod in self.list(PODS, namespace) if is_healthy(pod)]

    # What is expected

    async def until(
        self, condition: Callable[[], object], timeout: float = 600.0, what: str = "the condition"
    ) -> None:
        """Return as soon as a commit makes the condition true; OutOfTime where none does in virtual time."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self.server.changed()
                    self._check_processes()
        except TimeoutError:
            raise OutOfTime(f"{what} did not come true in {timeout:g} s of virtual time") from None

    async def settle(self, quiet: float = 60.0, timeout: float = 3600.0) -> None:
        """Return when nothing but leases was written for so long."""
        async with asyncio.timeout(timeout):
            before = -1
            while before != (now := self._writes()):
                before = now
                await self.sim.clock.sleep(quiet)
                self._check_processes()

    def _writes(self) -> int:
        leases = "leases.coordination.k8s.io"
        return sum(record.resource != leases for record in self.server.log.records.values())

    def _check_processes(self) -> None:
        for process in (self.controllers, self.nodes):
            process.check()

    # What goes wrong

    async def restart_server(self, down: float = 1.0) -> None:
        """Crash the server, and start it again after so long."""
        await self.server.crash()
        await self.sim.clock.sleep(down)
        await self.server.start()

    async def restart_controllers(self, down: float = 1.0) -> None:
        """Crash the controllers, and start them again after so long."""
        await self.controllers.crash()
        await self.sim.clock.sleep(down)
        await self.controllers.start()

    async def restart_nodes(self, down: float = 1.0) -> None:
        """Crash the process that plays the nodes; containers outlive it."""
        await self.nodes.crash()
        await self.sim.clock.sleep(down)
        await self.nodes.start()

    @property
    def node_pool(self) -> NodePool:
        """The nodes: crash, start, isolate and rejoin them by name."""
        assert self.pool is not None, "the nodes were never started"
        return self.pool

    def _build_nodes(self) -> Manager:
        link = self.network.link("nodes", parts.ADMIN)
        metrics = self.server.metrics
        deps, recorder = parts.make_deps(
            link, self.sim.clock, self.sim.stream("nodes"), metrics, "simulated-nodes"
        )
        self.pool = NodePool(deps, self._shapes, self.settings.node)
        return self.pool.manager(recorder)

    def _build_controllers(self) -> Manager:
        link = self.network.link("controllers", parts.CONTROLLER_MANAGER)
        deps, recorder = parts.make_deps(
            link, self.sim.clock, self.sim.stream("controllers"), self.server.metrics, "controllers"
        )
        return Manager(deps.informers, parts.make_controllers(deps), runnables=[recorder])


def is_healthy(pod: Obj) -> bool:
    """Ready, and not on its way out: what a disruption budget counts."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
