"""A process that dies before or after any one of its requests comes back and goes on: nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from support.effort import crash_points
from support.eviction_scenarios.cluster import ScenarioCluster
from support.eviction_scenarios.runner import ScenarioRunner
from support.eviction_scenarios.scenario import Scenario
from support.eviction_scenarios.scripts import BACKUP, SCRIPTS
from support.eviction_scenarios.users import NAMESPACE
from vacate.api.kinds import PODS
from vacate.client.transport import Transport
from vacate.sim.faults.crashpoints import CrashPoint
from vacate.sim.run import Sim, run_sim

pytestmark = [pytest.mark.sim, pytest.mark.timeout(900)]  # a thorough run tries every moment of a crash

MANAGER = "manager-1"
DOWN = 1.0


class Run:
    """A script with a process that dies at a request; the wire counts how many it makes."""

    def __init__(
        self, scenario: Scenario, victim: str, at: int | None = None, *, after: bool = False
    ) -> None:
        self._scenario = scenario
        self._victim = victim
        self._at = at
        self._after = after
        self.count = 0
        self.crashed = False
        self.pods_left = 0

    def run(self) -> list[str]:
        """The breaches."""
        return run_sim(self._main, 3, limit=86400.0)

    async def _main(self, sim: Sim) -> list[str]:
        wire = CrashPoint(self._at, after=self._after)

        def wrap(name: str, transport: Transport) -> Transport:
            return wire.around(transport) if name == self._victim else transport

        cluster = ScenarioCluster(sim, self._scenario, wrap=wrap)
        async with cluster.world:
            killer = sim.loop.create_task(self._kill(cluster, wire), name="killer")
            await ScenarioRunner(cluster).run()
            killer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await killer
            self.pods_left = len(cluster.world.objects(PODS, NAMESPACE))
        self.count, self.crashed = wire.count, wire.tripped.is_set()
        return cluster.breaches()

    async def _kill(self, cluster: ScenarioCluster, wire: CrashPoint) -> None:
        await wire.tripped.wait()
        await cluster.crash(self._victim, DOWN)


def at_every_request(scenario: Scenario, victim: str, *, after: bool) -> None:
    undisturbed = Run(scenario, victim)
    assert undisturbed.run() == []
    assert undisturbed.count > 3
    for number in crash_points(undisturbed.count):
        run = Run(scenario, victim, number, after=after)
        problems = run.run()
        assert not problems, f"request {number} of {undisturbed.count}: {problems}"
        assert run.crashed
        assert run.pods_left == undisturbed.pods_left == 0


AFTER = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


@pytest.mark.thorough(beyond=2)
@AFTER
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_controller_may_die_at_every_request(script: str, after: bool) -> None:
    at_every_request(SCRIPTS[script], MANAGER, after=after)


@pytest.mark.thorough(beyond=1)
@AFTER
@pytest.mark.parametrize("script", ["chain", "changed minds"])
def test_an_interceptor_may_die_at_every_request(script: str, after: bool) -> None:
    at_every_request(SCRIPTS[script], BACKUP, after=after)
