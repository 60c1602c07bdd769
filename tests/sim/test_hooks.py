"""Hooks, disturbed: crashes of the process at every request, cancellations, lost calls and answers."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import pytest

from support.effort import crash_points
from support.simulated.deployments import completed
from support.simulated.dyingmanager import killed
from support.simulated.evictions import request_eviction, running_pod
from support.simulated.hooks import ALLOWED, SimulatedService, service_of
from support.simulated.workloads import condition_of, history
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import HOOKS
from vacate.errors import NotFound
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, TARGET, TIMEOUT
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.crashpoints import CrashPoint
from vacate.sim.faults.transport import RequestFaultRates
from vacate.sim.process import Process
from vacate.sim.run import Sim, run_sim
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.hooks import hook_controllers

pytestmark = [
    pytest.mark.sim,
    pytest.mark.thorough(beyond=1),
    pytest.mark.timeout(900),  # a thorough run tries every moment of a crash
]

SEEDS = int(os.environ.get("VACATE_HOOK_SEEDS", "3"))
FAULTS = RequestFaultRates(delay=0.3, lost=0.01, unanswered=0.01, refused=0.01, cut=0.01, repeat=0.01)
ANNOTATED = {"metadata": {"annotations": {TARGET: "flush", TIMEOUT: "5m"}}}


def hooks(world: World, service: SimulatedService, wire: CrashPoint | None = None) -> Process:
    def build(link: Transport, around: ComponentContext) -> Any:
        rows = hook_controllers(lambda: ALLOWED, around.gates, service)
        reached = wire.around(link) if wire is not None else link
        return component_manager(reached, "vacate-hooks", rows, around, PROJECTIONS)

    return world.add("hooks", build, HOOKS)


def ended_unprepared(world: World, service: SimulatedService) -> list[str]:
    """The pods whose deletion began although their hook was not done and no failure is written down."""
    failures = {
        one["spec"]["target"]["podRef"]["name"]
        for _, one in history(world, EVICTIONREQUESTS)
        if condition_of(one, f"{HOOKS_INTERCEPTOR}/Failed") == "True" or _is_timed_out(one)
    }
    done = {work.pod for work in service.works.values() if work.answered}
    ended = {
        one["metadata"]["name"] for _, one in history(world, PODS) if one["metadata"].get("deletionTimestamp")
    }
    return sorted(ended - done - failures)


def _is_timed_out(request: Obj) -> bool:
    conditions = request.get("status", {}).get("conditions", [])
    return any("timed out" in one.get("message", "") for one in conditions)


class Run:
    """A pod is evicted after its hook, by a process that dies at a request to the API server."""

    def __init__(self, at: int | None = None, *, after: bool = False) -> None:
        self._wire = CrashPoint(at, after=after)

    @property
    def count(self) -> int:
        return self._wire.count

    def play(self) -> tuple[int, bool, bool]:
        return run_sim(self._main, 5, limit=86400.0)

    async def _main(self, sim: Sim) -> tuple[int, bool, bool]:
        async with World(sim, WorldSettings(nodes=1)) as world:
            service = service_of(world)
            process = hooks(world, service, self._wire)
            async with killed(sim, world, process, self._wire):
                target = await running_pod(world, "db", interceptors=[HOOKS_INTERCEPTOR], **ANNOTATED)
                request = await request_eviction(world, target)
                await completed(world, request)
                (work,) = service.works.values()
                return len(ended_unprepared(world, service)), work.answered, work.cancelled


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_the_process_may_die_at_every_request(after: bool) -> None:
    """One key, one piece of work, and the pod goes when it is done: a crash costs nothing but time."""
    undisturbed = Run()
    assert undisturbed.play() == (0, True, False)
    for number in crash_points(undisturbed.count):
        assert Run(number, after=after).play() == (0, True, False), f"request {number} of {undisturbed.count}"


@pytest.mark.parametrize("number", range(SEEDS))
def test_lost_calls_crashes_and_cancellations_at_random(number: int) -> None:
    """No pod goes without its hook unless the request says that the hook has failed."""

    async def main(sim: Sim) -> None:
        async with World(sim, WorldSettings(nodes=1, chances=FAULTS)) as world:
            chance = sim.stream("user")
            service = service_of(world, seconds=chance.uniform(1.0, 400.0), fails=chance.uniform(0.0, 0.6))
            process = hooks(world, service)
            await process.start()
            open_requests: list[str] = []
            for index in range(4):
                target = await running_pod(
                    world, f"db-{index}", interceptors=[HOOKS_INTERCEPTOR], **ANNOTATED
                )
                open_requests.append(await request_eviction(world, target))
            for _ in range(5):
                await sim.clock.sleep(chance.uniform(0.1, 60.0))
                if chance.uniform(0.0, 1.0) < 0.5:
                    await world.restart(process, chance.uniform(0.1, 20.0))
                elif open_requests and chance.uniform(0.0, 1.0) < 0.5:
                    with contextlib.suppress(NotFound):
                        await world.client.delete(EVICTIONREQUESTS, open_requests.pop(), "default")
            await completed(world, *open_requests)
            assert ended_unprepared(world, service) == []
            assert service.most_calls <= 4

    run_sim(main, number, limit=7 * 86400.0)
