"""The machines of the laboratory with what runs on them, and how they are broken.

Each machine has the real node agent. The managers run on two of them: they are cut off, and lose power, with
their machine, and reach the power switches of others over the network between machines.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from support.laboratory.fencing import ReachableSwitches, Switches
from support.laboratory.outcome import Outcome
from support.laboratory.programs import agent_program, manager_program
from support.laboratory.workload import STORAGE, has_quorum, uses_storage
from support.simulated.shutdown import SimLogind
from vacate.api.kinds import NODES as NODE_OBJECTS
from vacate.client.transport import Transport
from vacate.embedded.bootstrap.identities import node
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.fencing.agentprotocol import OFF
from vacate.runtime.manager import Manager
from vacate.sim.cluster import World
from vacate.sim.machines.agent import AgentProgram
from vacate.sim.machines.machine import Machine, MachineNetwork
from vacate.sim.machines.runs import identity_of
from vacate.sim.process import Process
from vacate.wiring.components import ComponentContext

NODES = tuple(f"node-{number}" for number in range(1, 6))
MANAGERS = {"manager-0": "node-1", "manager-1": "node-2"}
"""The managers, and the machines on which they run."""

Spawn = Callable[[Coroutine[Any, Any, None]], None]
"""Does something beside everything else."""


class Hosts:
    """Five machines: their power, their agents and managers, and the network between them."""

    def __init__(self, world: World, folder: Path, outcome: Outcome, spawn: Spawn) -> None:
        self._world = world
        self._clock = world.sim.clock
        self._folder = folder
        self._outcome = outcome
        self._spawn = spawn
        self.network = MachineNetwork()
        self.spared: dict[str, None] = {}  # nodes that must report now: no fault silences them
        self._kept_away: dict[str, None] = {}  # nodes that must not report now, whoever reconnects them
        self.machines = {
            name: Machine(name, self._clock, world.sim.stream(f"machine {name}"), self.network)
            for name in NODES
        }
        self.loginds = {name: SimLogind(self._clock) for name in NODES}
        self.switched_off: Callable[[str], None] = lambda _: None  # called before a fence agent does it
        self.given_back: Callable[[str], None] = lambda _: None  # called when a machine has its storage again
        self.switches = Switches(
            self._clock,
            lambda name: self.machines[name].on,
            self._switch,
            partial(self._asked, "fence agent"),
        )
        self.ports = Switches(
            self._clock,
            lambda name: not self.is_shut_out(name),
            self._switch_port,
            partial(self._asked, "storage fence agent"),
            self.switches.behaviours,
        )
        self.agents: dict[str, Process] = {}
        self.managers: dict[str, Process] = {}
        for machine in self.machines.values():
            machine.ready = lambda run: has_quorum(run, self.machines, self.network)
            machine.needs = lambda run: (STORAGE,) if uses_storage(run.labels) else ()

    @property
    def processes(self) -> list[Process]:
        """All agents and managers."""
        return [*self.agents.values(), *self.managers.values()]

    async def open(self) -> None:
        """Start agents and managers, in the world that was entered."""
        for name in NODES:
            self.agents[name] = self._world.add(name, partial(self._agent, name), node(name))
            await self.agents[name].start()
        for name in MANAGERS:
            self.managers[name] = self._world.add(name, partial(self._manager, name), EVICTION_CONTROLLER)
            await self.managers[name].start()

    async def close(self) -> None:
        """End all of it."""
        for process in self.processes:
            await process.crash()
        for machine in self.machines.values():
            await machine.stop()
        for logind in self.loginds.values():
            await logind.stop()

    def mend(self) -> None:
        """Links, switches, disks and power are well again."""
        self.switches.behaviours.clear()
        self.spared.clear()
        self._kept_away.clear()
        self.network.mend_all()
        for name, machine in self.machines.items():
            machine.disk.full, machine.disk.seconds = False, 0.0
            if machine.on and self.loginds[name].is_preparing:
                self._spawn(self._go_down(name, self.loginds[name], 1.0))
            self.power_on(name)

    def reports(self, name: str) -> bool:
        """Whether the node is registered, its agent runs, and nothing is between it and the control plane."""
        return self.is_connected(self.agents[name]) and self._world.find(NODE_OBJECTS, name) is not None

    def is_connected(self, process: Process) -> bool:
        """Whether an agent or a manager runs, and nothing is between it and the control plane."""
        return process.is_running and not self._world.network.is_cut(process.name)

    def running(self, name: str) -> list[str]:
        """The pods whose processes are on the machine now and reach the storage, whatever the API says."""
        return [] if self.is_shut_out(name) else [identity_of(one) for one in self.machines[name].living]

    def runs(self, name: str) -> list[str]:
        """The processes on the machine, each by a name that it shares with none before or after."""
        machine = self.machines[name]
        return [f"{identity_of(one)} ({one.id}, boot {machine.boots})" for one in machine.living]

    def is_shut_out(self, name: str) -> bool:
        """Whether the storage has closed its port for the machine."""
        return self.network.is_shut(name, STORAGE)

    # What goes wrong

    def power_off(self, name: str) -> None:
        """All on the machine is gone at once."""
        machine = self.machines[name]
        if not machine.on:
            return
        self._outcome.note(f"{name} loses power")
        machine.power_off()
        self.loginds[name].cancel()
        self.loginds[name] = SimLogind(self._clock)
        self._spawn(self._crash(name))

    def power_on(self, name: str) -> None:
        """Machine, agent and managers start."""
        machine = self.machines[name]
        if machine.on:
            return
        self._outcome.note(f"{name} has power again")
        machine.power_on()
        self._spawn(self._start(name))

    async def shut_down(self, name: str, down: float, called_off: float = 0.0) -> None:
        """The machine goes down in order, and comes back after a while; or somebody thinks better of it."""
        logind = self.loginds[name]
        if not self.machines[name].on or logind.is_preparing:
            return
        logind.power_off()
        if called_off:
            await self._clock.sleep(called_off)
            if self._call_off(name, logind):
                return
        await self._go_down(name, logind, down)

    def _call_off(self, name: str, logind: SimLogind) -> bool:
        """Whether the shutdown could be stopped: the machine is still on."""
        if logind.off_at is not None or self.loginds[name] is not logind:
            return False
        self._outcome.note(f"the shutdown of {name} is called off")
        self._outcome.counts["shutdown: called off"] += 1
        logind.cancel()
        return True

    async def _go_down(self, name: str, logind: SimLogind, down: float) -> None:
        """Wait until logind has the machine go down, and switch it on again."""
        while logind.off_at is None and self.loginds[name] is logind:
            await self._clock.sleep(0.5)
        if self.loginds[name] is logind:
            self._outcome.counts["shutdown: ended in order"] += 1
            self.power_off(name)
        await self._clock.sleep(down)
        self.power_on(name)

    async def restart(self, process: Process, down: float, on: str = "") -> None:
        """Crash a process and start it again after a while, unless its machine is off by then."""
        await process.crash()
        await self._clock.sleep(down)
        if not on or self.machines[on].on:
            await self.begin(process)

    async def begin(self, process: Process) -> None:
        """Start a process, unless it was started meanwhile."""
        with contextlib.suppress(AssertionError):
            await process.start()

    def cut_off(self, name: str) -> None:
        """Nothing gets through between the machine, with its agent and managers, and the control plane."""
        for process in self._on(name):
            self._world.network.cut(process.name)

    def cut_agent_off(self, name: str) -> None:
        """Only the agent loses the API server, as with an expired certificate; managers beside it do not."""
        self._world.network.cut(self.agents[name].name)

    def reconnect(self, name: str) -> None:
        """Undo `cut_off` and `cut_agent_off`, where the node is not kept away."""
        for process in self._on(name):
            if name not in self._kept_away:
                self._world.network.mend(process.name)

    def keep_away(self, name: str) -> None:
        """Cut the machine off until `let_back`, although another fault that cut it off, too, has ended."""
        self._kept_away[name] = None
        self.cut_off(name)

    def let_back(self, name: str) -> None:
        """Undo `keep_away`."""
        self._kept_away.pop(name, None)
        self.reconnect(name)

    # How it is made

    def _on(self, name: str) -> list[Process]:
        managers = [self.managers[one] for one, place in MANAGERS.items() if place == name]
        return [self.agents[name], *managers]

    async def _crash(self, name: str) -> None:
        for process in self._on(name):
            await process.crash()

    async def _start(self, name: str) -> None:
        for process in self._on(name):
            await process.crash()  # it may be on its way down
            if self.machines[name].on:
                self._spawn(self.begin(process))

    def _agent(self, name: str, transport: Transport, around: ComponentContext) -> AgentProgram:
        return agent_program(self.machines[name], self._folder / name, self.loginds[name], transport, around)

    def _manager(self, name: str, transport: Transport, around: ComponentContext) -> Manager:
        place = MANAGERS[name]
        agents = ReachableSwitches(
            self.switches, self.ports, lambda other: self.network.reaches(place, other)
        )
        return manager_program(agents, transport, around)

    def _switch(self, name: str, on: bool) -> None:
        (self.power_on if on else self.power_off)(name)

    def _switch_port(self, name: str, on: bool) -> None:
        if on == (not self.is_shut_out(name)):
            return
        self._outcome.note(f"{name} {'has its storage again' if on else 'is cut off from its storage'}")
        (self.network.open if on else self.network.shut)(name, STORAGE)
        if on:
            self.given_back(name)

    def _asked(self, agent: str, action: str, name: str, behaviour: str) -> None:
        self._outcome.note(f"the {agent} of {name} is asked for {action} ({behaviour})")
        self._outcome.counts[f"{agent}: {action}, {behaviour}"] += 1
        if action == OFF:
            self.switched_off(name)
