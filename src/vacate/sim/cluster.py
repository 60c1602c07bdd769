"""A whole cluster in virtual time: API server, scheduler, controllers and nodes, each of which can fail.

async with World(sim) as world:
    await world.client.create(DEPLOYMENTS, deployment("web"), "default")
    await world.until(lambda: len(world.healthy_pods()) == 3)
    world.pool.crash("node-1")
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from vacate.admission.pods.forcedeletion import Guard
from vacate.api.kinds import PODS, Kind
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.apiserver.response.stored import decode
from vacate.embedded.bootstrap.identities import ADMIN, CONTROLLER_MANAGER, SCHEDULER, node
from vacate.embedded.cluster.controlplane import CONTROLLERS, EVICTION_CONTROLLER, SCHEDULERS
from vacate.embedded.nodes.nodeobjects import NodeShape, shapes
from vacate.embedded.nodes.pool import NodePool
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.store.compaction import Retention
from vacate.embedded.store.types import Key
from vacate.entropy import Entropy
from vacate.errors import OutOfTime
from vacate.eviction.model import Limits
from vacate.features import FeatureGates
from vacate.metrics import Unmeasured
from vacate.runtime.manager import Manager
from vacate.runtime.recorder import BUFFER
from vacate.sim.faults.transport import FaultSource, FaultyTransport, RandomPlan, RequestFaultRates
from vacate.sim.history import is_healthy
from vacate.sim.network import Network
from vacate.sim.process import Process, Program
from vacate.sim.run import Sim
from vacate.sim.server import SimServer
from vacate.wire.message import Peer
from vacate.wiring.components import (
    ComponentContext,
    ControllerDescriptor,
    component_dependencies,
    component_manager,
)
from vacate.wiring.controllers import CONTROLLERS as PRODUCT_CONTROLLERS

Build = Callable[[Transport, ComponentContext], Program]
"""Makes what one life of a process runs."""


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """How a world is made; latencies are ranges of seconds."""

    nodes: int = 3
    zones: int = 3
    shapes: Sequence[NodeShape] | None = None  # the nodes themselves, in place of so many alike
    latency: tuple[float, float] = (0.0005, 0.005)
    disk: tuple[float, float] = (0.0005, 0.003)
    node: NodeSettings = field(default_factory=NodeSettings)
    schedulers: Sequence[ControllerDescriptor] = SCHEDULERS
    controllers: Sequence[ControllerDescriptor] = CONTROLLERS
    evictions: Sequence[ControllerDescriptor] = (
        PRODUCT_CONTROLLERS  # Vacate's own, in a process of their own, where their gate is open
    )
    gates: FeatureGates = field(default_factory=FeatureGates)
    limits: Limits = field(default_factory=Limits)  # the administrator's, for every eviction request
    force_guard: Guard = field(default_factory=Guard)  # against deletions that leave processes behind
    event_buffer: int = BUFFER  # 0 where nobody reads Events
    measured: bool = False  # True where metrics are read: to keep them is a fifth of what a start takes
    retention: Retention | None = None  # None keeps all history, so that invariants can be checked on it
    chances: RequestFaultRates = field(
        default_factory=RequestFaultRates
    )  # what goes wrong with requests of the parts
    # The same by a plan for each part, asked for by name at each of its starts; it goes before `chances`.
    plans: Callable[[str], FaultSource] | None = None
    # Seconds by which the clock of a part is ahead, by name; that of "server" too.
    skews: Mapping[str, float] = field(default_factory=dict)


class World:
    """The cluster, what is in it, words to expect things of it, and verbs to break it."""

    def __init__(self, sim: Sim, settings: WorldSettings | None = None) -> None:
        self.sim = sim
        self.settings = settings = settings or WorldSettings()
        self.network = Network(sim.clock, sim.stream("network"), settings.latency)
        self.server = SimServer(
            sim,
            self.network,
            settings.disk,
            settings.retention,
            skew=settings.skews.get("server", 0.0),
            gates=settings.gates,
            force_guard=settings.force_guard,
            metrics=None if settings.measured else Unmeasured(),
        )
        self.client = self.client_of("admin")
        self.scheduler = Process("scheduler", self.network, self._scheduler)
        self.controllers = Process("controllers", self.network, self._controllers)
        self.nodes = Process("nodes", self.network, self._nodes)
        self.evictions = Process("evictions", self.network, self._evictions)
        self._processes = [self.nodes, self.controllers, self.scheduler]
        self._evicting = [one for one in settings.evictions if one.is_enabled(settings.gates)]
        if self._evicting:
            self._processes.append(self.evictions)
        self._pool: NodePool | None = None
        self._starts = Counter[str]()  # by the name of a stream

    async def __aenter__(self) -> World:
        await self.server.start()
        try:
            for process in self._processes:
                await process.start()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def _end(self) -> None:
        for process in self._processes:
            await process.crash()
        await self.network.stop()
        await self.server.stop()

    # What is there

    @property
    def pool(self) -> NodePool:
        """The nodes: crash, start, isolate and rejoin them by name."""
        assert self._pool is not None, "the nodes were never started"
        return self._pool

    def client_of(self, name: str, peer: Peer = ADMIN) -> Client:
        """A client over a link of its own; an administrator unless specified otherwise."""
        return Client(self.network.link(name, peer), user_agent=name)

    def add(self, name: str, build: Build, peer: Peer) -> Process:
        """One more process, with a link, a clock and faults of its own. It ends with the world."""
        process = Process(name, self.network, lambda: build(self._link(name, peer), self._around(name)))
        self._processes.append(process)
        return process

    async def start(self, name: str, build: Build, peer: Peer) -> Process:
        """Add a process and start it."""
        process = self.add(name, build, peer)
        await process.start()
        return process

    def objects(self, kind: Kind, namespace: str = "") -> list[Obj]:
        """The committed objects of a kind, read past the API."""
        return [decode(kind, entry) for entry in self.server.store.list(kind.resource, namespace).entries]

    def find(self, kind: Kind, name: str, namespace: str = "") -> Obj | None:
        """A committed object, read past the API."""
        entry = self.server.store.get(Key(kind.resource, namespace, name))
        return None if entry is None else decode(kind, entry)

    def healthy_pods(self, namespace: str = "default") -> list[Obj]:
        """The pods that are ready and not terminating."""
        return [pod for pod in self.objects(PODS, namespace) if is_healthy(pod)]

    # What is expected

    async def until(
        self, condition: Callable[[], object], timeout: float = 600.0, what: str = "the condition"
    ) -> None:
        """Return as soon as a commit makes the condition true; OutOfTime where none does in virtual time."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self.server.changed()
                    self.check()
        except TimeoutError:
            raise OutOfTime(f"{what} did not come true in {timeout:g} s of virtual time") from None

    async def settle(self, quiet: float = 60.0, timeout: float = 3600.0) -> None:
        """Return when nothing but leases was written for so long."""
        async with asyncio.timeout(timeout):
            before = -1
            while before != (now := self._last_write()):
                before = now
                await self.sim.clock.sleep(quiet)
                self.check()

    def check(self) -> None:
        """Raise what ended a process by itself, if anything did."""
        for process in self._processes:
            process.check()

    def _last_write(self) -> int:
        leases = "leases.coordination.k8s.io"
        records = self.server.log.records.values()
        return max((record.revision for record in records if record.resource != leases), default=0)

    # What goes wrong

    async def restart_server(self, down: float = 1.0) -> None:
        """Crash the server, and start it again after so long."""
        await self.server.crash()
        await self.sim.clock.sleep(down)
        await self.server.start()

    async def restart(self, process: Process, down: float = 1.0) -> None:
        """Crash a process, and start it again after so long. Containers outlive the nodes' process."""
        await process.crash()
        await self.sim.clock.sleep(down)
        await process.start()

    # How the processes are made

    def _around(self, name: str) -> ComponentContext:
        skew = self.settings.skews.get(name, 0.0)
        clock = self.sim.skewed_clock(skew) if skew else self.sim.clock
        chosen = self.settings
        return ComponentContext(
            clock,
            self._fresh_stream(name),
            self.server.metrics,
            chosen.gates,
            limits=chosen.limits,
            event_buffer=chosen.event_buffer,
        )

    def _fresh_stream(self, name: str) -> Entropy:
        """One for each start: a process that comes back must not draw again what the one before has drawn."""
        self._starts[name] += 1
        number = self._starts[name]
        return self.sim.stream(name if number == 1 else f"{name}, start {number}")

    def _link(self, name: str, peer: Peer) -> Transport:
        link = self.network.link(name, peer)
        if self.settings.plans is not None:
            return FaultyTransport(link, self.settings.plans(name), self.sim.clock, link.straggle)
        if self.settings.chances == RequestFaultRates():
            return link
        plan = RandomPlan(self.settings.chances, self._fresh_stream(f"faults of {name}"))
        return FaultyTransport(link, plan, self.sim.clock)

    def _scheduler(self) -> Manager:
        link = self._link("scheduler", SCHEDULER)
        return component_manager(
            link, "default-scheduler", self.settings.schedulers, self._around("scheduler")
        )

    def _controllers(self) -> Manager:
        link = self._link("controllers", CONTROLLER_MANAGER)
        around = self._around("controllers")
        return component_manager(link, "controller-manager", self.settings.controllers, around)

    def _evictions(self) -> Manager:
        link = self._link("evictions", EVICTION_CONTROLLER)
        around = self._around("evictions")
        return component_manager(link, "vacate-manager", self._evicting, around, PROJECTIONS)

    def _nodes(self) -> Manager:
        link = self._link("nodes", node("simulated"))
        deps, recorder = component_dependencies(link, "kubelet", self._around("nodes"))
        chosen = self.settings
        wanted = shapes(chosen.nodes, zones=chosen.zones) if chosen.shapes is None else chosen.shapes
        self._pool = NodePool(deps, wanted, chosen.node)
        return self._pool.manager(recorder)
