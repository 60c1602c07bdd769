"""A simulated machine with the real node agent, in a world of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig
from vacate.embedded.bootstrap.identities import node
from vacate.nodeagent.settings import AgentSettings
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.transport import Fault, FaultSource, Script
from vacate.sim.machines.agent import AgentProgram
from vacate.sim.machines.machine import Machine, MachineNetwork
from vacate.sim.process import Process
from vacate.sim.run import Sim, run_sim
from vacate.testing import pod
from vacate.wire.message import Request

NAME = "laptop"


class Lost:
    """Faults of certain requests, and others in a fixed order."""

    def __init__(self, paths: list[str], late: dict[str, float], script: Script) -> None:
        self._paths = paths
        self._late = late
        self._script = script

    def fault(self, request: Request) -> Fault:
        for path in self._paths:
            if request.path.endswith(path):
                self._paths.remove(path)
                return Fault(status=503)
        for path in self._late:
            if request.path.endswith(path):
                return Fault(late=self._late.pop(path))
        return self._script.fault(request)


class Place:
    """A world with one machine."""

    def __init__(self, sim: Sim, folder: Path, faults: tuple[Fault, ...] = ()) -> None:
        self.lost: list[str] = []  # paths whose next request is answered with an error, each once
        self.late: dict[str, float] = {}  # paths whose next request is carried out so many seconds later

        def plan(name: str) -> FaultSource:
            return Lost(self.lost, self.late, Script(faults)) if name == NAME else Script(())

        settings = WorldSettings(nodes=0, schedulers=(), evictions=(), plans=plan)
        self.sim = sim
        self.world = World(sim, settings)
        self.network = MachineNetwork()
        self.machine = Machine(NAME, sim.clock, sim.stream("machine"), self.network)
        self._settings = AgentSettings(name=NAME, folder=folder / NAME, taint=False)
        self.agent: Process | None = None

    async def start(self) -> None:
        self.agent = self.world.add(
            NAME, lambda link, around: AgentProgram(self.machine, self._settings, link, around), node(NAME)
        )
        await self.agent.start()

    async def run_pod(self, name: str, container: Obj | None = None, **spec: Any) -> None:
        made = pod(name, spec={"nodeName": NAME, **spec})
        main = {"name": "main", "image": "none", "command": ["main"]}
        made["spec"]["containers"] = [{**main, **(container or {})}]
        await self.world.client.create(PODS, made, "default")

    def phase(self, name: str) -> str:
        return str(dig(self.world.find(PODS, name, "default"), "status", "phase"))


def in_place(body: Any, folder: Path, faults: tuple[Fault, ...] = ()) -> None:
    async def main(sim: Sim) -> None:
        place = Place(sim, folder, faults)
        async with place.world:
            try:
                await place.start()
                await body(place)
            finally:
                if place.agent is not None:
                    await place.agent.crash()
                await place.machine.stop()

    run_sim(main, 1)
