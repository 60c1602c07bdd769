"""Fence agents of simulated machines: they work, or fail in the ways in which real ones do."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from vacate.api.types import Node
from vacate.api.types.fencingpolicy import AgentSpec
from vacate.clock import Clock
from vacate.embedded.nodes.pool import NodePool
from vacate.fencing.agentprotocol import OFF, ON, STATUS, PowerState
from vacate.fencing.agents import Answer, MachineAgent

_SECONDS = 2.0


class Behaviour(enum.StrEnum):
    """What an agent does when it is asked."""

    WORKS = "works"
    REFUSES = "refuses"  # its credentials are wrong
    HANGS = "hangs"  # it does not answer in time, and nothing happens
    LATE = "late"  # it does not answer in time, and the machine goes off all the same
    LIES = "lies"  # says that it switched off, and did not
    MUTE = "mute"  # switches off, and cannot report the state
    WRONG_MACHINE = "wrong machine"  # speaks of the machine of another node


@dataclass(slots=True)
class SimulatedAgents:
    """The power switches of a pool, with a behaviour for each node."""

    pool: Callable[[], NodePool]
    clock: Clock
    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)  # action and node, as they were asked
    others: dict[str, str] = field(default_factory=dict)  # whose machine a wrong one is
    during: Callable[[str, str], None] = lambda action, node: None  # something that happens meanwhile

    async def for_node(self, spec: AgentSpec, node: Node, step: str) -> MachineAgent:
        """The agent of one node."""
        return _Agent(self, node.metadata.name, float(spec.timeout_seconds))

    def state(self, name: str) -> PowerState:
        """Whether the machine is on."""
        machine = self.pool().machines[name]
        return PowerState.OFF if machine.booted is not None and not machine.up else PowerState.ON

    def switch(self, name: str, *, on: bool) -> None:
        """Do it."""
        if on and self.state(name) is PowerState.OFF:
            self.pool().start(name)
        elif not on and self.state(name) is PowerState.ON:
            self.pool().crash(name)


@dataclass(slots=True)
class SimulatedStorage(SimulatedAgents):
    """Cuts nodes off from their storage instead; their machines run on."""

    cut: set[str] = field(default_factory=set)

    def state(self, name: str) -> PowerState:
        """Off means that the node is cut off."""
        return PowerState.OFF if name in self.cut else PowerState.ON

    def switch(self, name: str, *, on: bool) -> None:
        """Do it."""
        if on:
            self.cut.discard(name)
        else:
            self.cut.add(name)


@dataclass(frozen=True, slots=True)
class _Agent:
    agents: SimulatedAgents
    node: str
    timeout: float

    async def off(self) -> Answer:
        """Switch the machine off, or not."""
        return await self._call(OFF)

    async def on(self) -> Answer:
        """Switch the machine on, or not."""
        return await self._call(ON)

    async def status(self) -> Answer:
        """The machine's state as it is reported."""
        return await self._call(STATUS)

    async def _call(self, action: str) -> Answer:
        agents = self.agents
        agents.calls.append((action, self.node))
        behaviour = agents.behaviours.get(self.node, Behaviour.WORKS)
        machine = self.node
        if behaviour is Behaviour.WRONG_MACHINE:
            machine = agents.others[self.node]
        await agents.clock.sleep(_SECONDS)
        agents.during(action, self.node)
        if behaviour is Behaviour.REFUSES:
            return Answer(False, PowerState.UNKNOWN, "login failed")
        if behaviour in (Behaviour.HANGS, Behaviour.LATE):
            await agents.clock.sleep(self.timeout)
            if behaviour is Behaviour.LATE and action != STATUS:
                agents.switch(machine, on=action == ON)
            return Answer(False, PowerState.UNKNOWN, f"no answer within {self.timeout:g} s")
        if action == STATUS:
            mute = behaviour is Behaviour.MUTE
            state = PowerState.UNKNOWN if mute else agents.state(machine)
            return Answer(not mute, state, f"the machine is {state}")
        if behaviour is not Behaviour.LIES:
            agents.switch(machine, on=action == ON)
        return Answer(True, PowerState.UNKNOWN, "done")
