"""Power switches of the laboratory's machines and ports of its storage, as a manager reaches them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from support.laboratory.workload import STORAGE
from vacate.api.types import Node
from vacate.api.types.fencingpolicy import STORAGE as STORAGE_MECHANISM
from vacate.api.types.fencingpolicy import AgentSpec
from vacate.clock import Clock
from vacate.fencing.agentprotocol import OFF, ON, STATUS, PowerState
from vacate.fencing.agents import Answer, MachineAgent
from vacate.sim.fenceagents import Behaviour

SECONDS = 2.0


@dataclass(slots=True)
class Switches:
    """The switches themselves, or the ports of the storage, with a behaviour for each machine."""

    clock: Clock
    is_on: Callable[[str], bool]
    switch: Callable[[str, bool], None]
    asked: Callable[[str, str, str], None]  # action, machine and behaviour, as a call arrives
    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)  # whose machine a wrong one is

    async def call(self, name: str, action: str, timeout: float) -> Answer:
        """Do it, or fail in the way that was drawn."""
        behaviour = self.behaviours.get(name, Behaviour.WORKS)
        self.asked(action, name, behaviour)
        await self.clock.sleep(SECONDS)
        if behaviour is Behaviour.REFUSES:
            return Answer(False, PowerState.UNKNOWN, "login failed")
        if behaviour in (Behaviour.HANGS, Behaviour.LATE):
            await self.clock.sleep(timeout)
            if behaviour is Behaviour.LATE and action != STATUS:
                self.switch(name, action == ON)
            return Answer(False, PowerState.UNKNOWN, f"no answer within {timeout:g} s")
        machine = self.others[name] if behaviour is Behaviour.WRONG_MACHINE else name
        if action == STATUS:
            mute = behaviour is Behaviour.MUTE
            state = PowerState.UNKNOWN if mute else PowerState.ON if self.is_on(machine) else PowerState.OFF
            return Answer(not mute, state, f"the machine is {state}")
        if behaviour is not Behaviour.LIES:
            self.switch(machine, action == ON)
        return Answer(True, PowerState.UNKNOWN, "done")


@dataclass(frozen=True, slots=True)
class ReachableSwitches:
    """Switches and ports as one manager reaches them: over the network between the machines."""

    switches: Switches
    ports: Switches
    reaches: Callable[[str], bool]

    async def for_node(self, spec: AgentSpec, node: Node, step: str) -> MachineAgent:
        """The agent of one node: a switch at its machine, or a port at the storage."""
        name, timeout = node.metadata.name, float(spec.timeout_seconds)
        if spec.mechanism == STORAGE_MECHANISM:
            return _Agent(self.ports, name, timeout, lambda: self.reaches(STORAGE))
        return _Agent(self.switches, name, timeout, lambda: self.reaches(name))


@dataclass(frozen=True, slots=True)
class _Agent:
    switches: Switches
    node: str
    timeout: float
    is_reached: Callable[[], bool]

    async def off(self) -> Answer:
        """Switch the machine off."""
        return await self._call(OFF)

    async def on(self) -> Answer:
        """Switch the machine on."""
        return await self._call(ON)

    async def status(self) -> Answer:
        """The machine's state as it is reported."""
        return await self._call(STATUS)

    async def _call(self, action: str) -> Answer:
        if not self.is_reached():
            await self.switches.clock.sleep(self.timeout)
            return Answer(False, PowerState.UNKNOWN, f"no answer within {self.timeout:g} s")
        return await self.switches.call(self.node, action, self.timeout)
