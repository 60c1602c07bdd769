"""The cluster of the laboratory: API server, controllers, and two managers with all of Vacate's controllers.

Nodes are simulated machines with the real node agent. The managers run on two of them: they are cut off, and
lose power, with their machine, and reach the power switches of others over the network between machines.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from support.laboratory.fencing import ReachableSwitches, Switches
from support.laboratory.outcome import Outcome
from support.laboratory.workload import MAX_FENCED, MEMBERS, STORAGE, uses_storage
from support.shutdown_sim import SimLogind
from vacate.api.kinds import NODES as NODE_OBJECTS
from vacate.client.transport import Transport
from vacate.controllers.fencing.controller import build as build_fencing
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.bootstrap.identities import node
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.embedded.store.log import Record
from vacate.errors import OutOfTime
from vacate.fencing.agentprotocol import OFF
from vacate.metrics import Metrics
from vacate.nodeagent.runtime.protocol import ContainerState
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.runtime.manager import Manager
from vacate.sim.auditlog import Audit
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.invariants.durability import AcknowledgedWrites
from vacate.sim.invariants.evictions import concerns_evictions
from vacate.sim.invariants.fences import Fences
from vacate.sim.invariants.liveprocesses import LiveProcesses
from vacate.sim.machines.agent import AgentProgram
from vacate.sim.machines.machine import Machine, identity_of
from vacate.sim.machines.network import MachineNetwork
from vacate.sim.machines.runtime import SimRuntime
from vacate.sim.process import Process
from vacate.sim.run import Sim
from vacate.wiring.components import ControllerDescriptor, Environment, component_manager
from vacate.wiring.controllers import enabled

NODES = tuple(f"node-{number}" for number in range(1, 6))
MANAGERS = {"manager-0": "node-1", "manager-1": "node-2"}
"""The managers, and the machines on which they run."""
SHUTDOWN = ShutdownConfig((Bucket(0, 40.0),), "")


class LaboratoryCluster:
    """Machines, agents and managers around a world, and verbs to break them."""

    def __init__(self, sim: Sim, settings: WorldSettings, folder: Path, outcome: Outcome) -> None:
        self.sim = sim
        self.outcome = outcome
        self.folder = folder
        self.world = World(sim, settings)
        self.network = MachineNetwork()
        self.registering: dict[str, None] = {}  # nodes that must do so soon, and are spared meanwhile
        self.machines = {
            name: Machine(name, sim.clock, sim.stream(f"machine {name}"), self.network) for name in NODES
        }
        self.loginds = {name: SimLogind(sim.clock) for name in NODES}
        self.switches = Switches(sim.clock, lambda name: self.machines[name].on, self._switch, self._asked)
        self.agents: dict[str, Process] = {}
        self.managers: dict[str, Process] = {}
        self.fences = Fences(MAX_FENCED, sim.loop.time, outcome.breach)
        self.processes = LiveProcesses(list(self.machines.values()), outcome.breach)
        self.audit = Audit(sim.loop.time, concerns_evictions)
        self.acknowledged = AcknowledgedWrites(self.audit)
        self.world.network.audit = self.acknowledged
        self.world.server.written = self._written
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._server_turn = asyncio.Lock()
        for machine in self.machines.values():
            machine.changed = self.processes.look
            machine.ready = self._has_quorum
            machine.needs = lambda run: (STORAGE,) if uses_storage(run.labels) else ()

    async def open(self) -> None:
        """Start agents and managers, in the world that was entered."""
        for name in NODES:
            self.agents[name] = self.world.add(name, partial(self._agent, name), node(name))
            await self.agents[name].start()
        for name in MANAGERS:
            self.managers[name] = self.world.add(name, partial(self._manager, name), EVICTION_CONTROLLER)
            await self.managers[name].start()

    async def close(self) -> None:
        """End what runs beside the world."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for process in (*self.agents.values(), *self.managers.values()):
            await process.crash()
        for machine in self.machines.values():
            await machine.stop()
        for logind in self.loginds.values():
            await logind.stop()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside everything else."""
        task = asyncio.get_running_loop().create_task(work, name="laboratory")
        self._tasks[task] = None
        task.add_done_callback(self._done)

    async def until(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        """Return when it holds; OutOfTime where it does not in time. Looked at every second."""
        end = self.sim.loop.time() + timeout
        while not condition():
            if self.sim.loop.time() > end:
                raise OutOfTime(f"{what} did not come true in {timeout:g} s of virtual time")
            await self.sim.clock.sleep(1.0)
            self.check()

    async def keep_server_running(self) -> None:
        """As a supervisor does: a server whose store has failed is started anew."""
        while True:
            await self.sim.clock.sleep(20.0)
            if self.world.server.up and self.world.server.store.failure:
                self.outcome.note("the API server is started anew: its store has failed")
                self.outcome.counts["store failed"] += 1
                await self.restart_server(1.0)

    async def restart_server(self, down: float) -> None:
        """Crash the server, and start it again."""
        async with self._server_turn:
            self.outcome.note(f"the API server crashes, for {down:.1f} s")
            await self.world.restart_server(down)
        for text in self.acknowledged.lost(self.world.server.log.records):
            self.outcome.breach(text)

    async def mend(self) -> None:
        """Undo all that is wrong at once, whatever is under way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.switches.behaviours.clear()
        self.world.server.condition.__init__()  # type: ignore[misc]
        self.network.mend_all()
        async with self._server_turn:
            if not self.world.server.up:
                await self.world.server.start()
        for name, machine in self.machines.items():
            machine.disk.full, machine.disk.seconds = False, 0.0
            self.loginds[name].cancel()
            self.power_on(name)
        for process in (
            self.world.controllers,
            self.world.scheduler,
            *self.agents.values(),
            *self.managers.values(),
        ):
            self.world.network.mend(process.name)
            self.spawn(self._begin(process))

    def check(self) -> None:
        """Raise what ended a process by itself."""
        self.outcome.check()
        self.world.check()

    # What goes wrong

    def power_off(self, name: str) -> None:
        """All on the machine is gone at once."""
        machine = self.machines[name]
        if not machine.on:
            return
        self.outcome.note(f"{name} loses power")
        machine.power_off()
        self.loginds[name].cancel()
        self.loginds[name] = SimLogind(self.sim.clock)
        self.spawn(self._crash(self._on(name)))

    def power_on(self, name: str) -> None:
        """Machine, agent and managers start."""
        machine = self.machines[name]
        if machine.on:
            return
        self.outcome.note(f"{name} has power again")
        machine.power_on()
        self.spawn(self._start(name, self._on(name)))

    async def restart(self, process: Process, down: float, on: str = "") -> None:
        """Crash a process and start it again after a while, unless its machine is off by then."""
        await process.crash()
        await self.sim.clock.sleep(down)
        if not on or self.machines[on].on:
            await self._begin(process)

    def cut_off(self, name: str) -> None:
        """Nothing gets through between the machine, with its agent and managers, and the control plane."""
        for process in self._on(name):
            self.world.network.cut(process.name)

    def reports(self, name: str) -> bool:
        """Whether the node is registered, its agent runs, and nothing is between it and the control plane."""
        agent = self.agents[name]
        connected = agent.is_running and not self.world.network.is_cut(agent.name)
        return connected and self.world.find(NODE_OBJECTS, name) is not None

    def reconnect(self, name: str) -> None:
        """Undo `cut_off`."""
        for process in self._on(name):
            self.world.network.mend(process.name)

    async def shut_down(self, name: str, down: float) -> None:
        """The machine goes down in order, and comes back after a while."""
        logind = self.loginds[name]
        if not self.machines[name].on or logind.is_preparing:
            return
        logind.power_off()
        while logind.off_at is None and self.loginds[name] is logind:
            await self.sim.clock.sleep(0.5)
        if self.loginds[name] is logind:
            self.outcome.counts["shutdown: ended in order"] += 1
            self.power_off(name)
        await self.sim.clock.sleep(down)
        self.power_on(name)

    # How it is made

    def _on(self, name: str) -> list[Process]:
        managers = [self.managers[one] for one, place in MANAGERS.items() if place == name]
        return [self.agents[name], *managers]

    async def _crash(self, processes: Sequence[Process]) -> None:
        for process in processes:
            await process.crash()

    async def _start(self, name: str, processes: Sequence[Process]) -> None:
        for process in processes:
            await process.crash()  # it may be on its way down
            if self.machines[name].on:
                self.spawn(self._begin(process))

    async def _begin(self, process: Process) -> None:
        with contextlib.suppress(AssertionError):  # it was started meanwhile
            await process.start()

    def _agent(self, name: str, transport: Transport, around: Environment) -> AgentProgram:
        settings = AgentSettings(name=name, folder=self.folder / name, taint=False, shutdown=SHUTDOWN)
        logind = self.loginds[name]
        machine = self.machines[name]
        runtime = SimRuntime(machine, logind.close)
        alone = replace(around, metrics=Metrics())
        return AgentProgram(machine, settings, transport, alone, runtime=runtime, logind=logind)

    def _manager(self, name: str, transport: Transport, around: Environment) -> Manager:
        place = MANAGERS[name]
        agents = ReachableSwitches(self.switches, lambda other: self.network.reaches(place, other))
        alone = replace(around, metrics=Metrics())
        ours = [_with_agents(one, agents) for one in enabled(alone.gates)]
        return component_manager(transport, "vacate-manager", ours, alone, PROJECTIONS)

    def _written(self, record: Record) -> None:
        self.processes.written(record)
        self.fences.written(record)

    def _switch(self, name: str, on: bool) -> None:
        (self.power_on if on else self.power_off)(name)

    def _asked(self, action: str, name: str, behaviour: str) -> None:
        self.outcome.note(f"the fence agent of {name} is asked for {action} ({behaviour})")
        self.outcome.counts[f"fence agent: {action}, {behaviour}"] += 1
        if action == OFF:
            self.fences.switched_off(name)

    def _has_quorum(self, run: ContainerState) -> bool:
        """Whether a member of the database reaches most members, itself among them."""
        where = {
            identity_of(one): name for name, machine in self.machines.items() for one in machine.living
            if identity_of(one).startswith("default/db-")
        }  # fmt: skip
        own = where.get(identity_of(run), "")
        reached = [name for name in where.values() if name == own or self.network.reaches(own, name)]
        return len(reached) * 2 > MEMBERS

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.outcome.breach(f"{type(error).__name__}: {error}")


def _with_agents(row: ControllerDescriptor, agents: ReachableSwitches) -> ControllerDescriptor:
    return replace(row, build=partial(build_fencing, agents=agents)) if row.gate == "Fencing" else row
