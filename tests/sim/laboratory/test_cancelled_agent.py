"""A node agent that is cancelled while it ends already."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.simulated.shutdown import SimLogind
from vacate.api.kinds import PODS
from vacate.embedded.bootstrap.identities import node
from vacate.nodeagent.agent import lock_folder
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.machines.agent import AgentProgram
from vacate.sim.machines.machine import Machine, MachineNetwork
from vacate.sim.machines.runtime import SimRuntime
from vacate.sim.run import Sim, run_sim
from vacate.testing import pod

pytestmark = pytest.mark.sim

NAME = "laptop"
SHUTDOWN = ShutdownConfig((Bucket(0, 40.0),), "")


def test_an_agent_that_is_cancelled_again_and_again_leaves_nothing_running(tmp_path: Path) -> None:
    async def main(sim: Sim) -> None:
        world = World(sim, WorldSettings(nodes=0, schedulers=(), evictions=()))
        machine = Machine(NAME, sim.clock, sim.stream("machine"), MachineNetwork())
        logind = SimLogind(sim.clock)
        settings = AgentSettings(name=NAME, folder=tmp_path / NAME, taint=False, shutdown=SHUTDOWN)
        async with world:
            runtime = SimRuntime(machine, logind.close)
            others = asyncio.all_tasks()
            agent = await world.start(
                NAME,
                lambda link, around: AgentProgram(
                    machine, settings, link, around, runtime=runtime, logind=logind
                ),
                node(NAME),
            )
            made = pod("db-0", spec={"nodeName": NAME})
            made["spec"]["containers"] = [{"name": "main", "image": "none", "command": ["main"]}]
            await world.client.create(PODS, made, "default")
            await world.until(lambda: len(world.healthy_pods()) == 1)
            await sim.clock.sleep(30.0)
            running = next(one for one in asyncio.all_tasks() if one.get_name() == NAME)
            while not running.done():
                running.cancel()
                await asyncio.sleep(0)
            assert {one.get_name() for one in asyncio.all_tasks() - others} == set()
            lock_folder(settings).close()
            assert [one.labels["pod"] for one in machine.living] == ["db-0"]
            await agent.crash()
            await machine.stop()

    run_sim(main, 1)
