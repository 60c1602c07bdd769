"""A manager that dies at any request, or meets faults: a drain and its undoing end in the same state."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.effort import seeds
from support.eviction_scenarios.candidate import TIMINGS, Candidate
from support.simulated.dyingmanager import Script, die_at_every_request
from support.simulated.evictions import A, as_interceptor, running_pod
from support.simulated.maintenances import (
    claims,
    drain,
    gone,
    is_cordoned,
    on_node,
    open_requests,
    phase,
    shown,
    web,
)
from vacate.api.kinds import EVICTIONREQUESTS, NODEMAINTENANCES, NODES
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.metrics import Metrics
from vacate.sim.cluster import Build, World, WorldSettings
from vacate.sim.faults.transport import RequestFaultRates
from vacate.sim.run import Sim, run_sim
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

pytestmark = [
    pytest.mark.sim,
    pytest.mark.thorough(beyond=1),
    pytest.mark.timeout(900),  # a thorough run tries every moment of a crash
]

SEEDS = seeds("VACATE_DRAIN_SEEDS", 3)


async def nothing() -> None:
    """No trouble."""


async def drained_and_undone(
    world: World, trouble: Callable[[], Awaitable[None]] = nothing
) -> dict[str, Any]:
    """A drain of two nodes, one of which somebody else has cordoned, taken back: what is left in the end.

    Trouble comes when it has just begun, during a turn, before the eviction, and before all is undone.
    """
    await web(world, 4)
    target = await running_pod(world, interceptors=[A], spec={"nodeName": "node-1"})
    await world.client.patch(NODES, "node-2", {"spec": {"unschedulable": True}})
    await drain(world, "node-1", "node-2")
    await trouble()
    uid = target["metadata"]["uid"]

    def turn() -> bool:
        found = world.find(EVICTIONREQUESTS, uid, "default") or {}
        return bool(found.get("status", {}).get("activeInterceptorName") == A)

    await world.until(turn, 3600.0)
    await trouble()
    await as_interceptor(world, uid, activeInterceptorCompleted=True)
    await trouble()
    await world.until(lambda: phase(world) == "Drained", 3600.0)
    drained = {
        "left": [on_node(world, name) for name in ("node-1", "node-2")],
        "cordoned": [is_cordoned(world, name) for name in ("node-1", "node-2", "node-3")],
    }
    await world.client.delete(NODEMAINTENANCES, "kernel")
    await trouble()
    await world.until(lambda: world.find(NODEMAINTENANCES, "kernel") is None, 3600.0)
    await world.settle()
    return {
        **drained,
        "after": [is_cordoned(world, name) for name in ("node-1", "node-2", "node-3")],
        "claims": [claims(world, name) for name in ("node-1", "node-2", "node-3")],
        "conditions": [shown(world, name) for name in ("node-1", "node-2", "node-3")],
        "open": len(open_requests(world)),
        "healthy": len(world.healthy_pods()),
    }


async def called_off(world: World) -> dict[str, Any]:
    """A drain that is taken back while an interceptor is at work: the pod stays."""
    target = await running_pod(world, interceptors=[A], spec={"nodeName": "node-1"})
    uid = target["metadata"]["uid"]
    await drain(world, "node-1")
    await world.until(lambda: world.find(EVICTIONREQUESTS, uid, "default") is not None, 3600.0)
    await gone(world)
    await world.until(lambda: not open_requests(world))
    return {
        "left": on_node(world, "node-1"),
        "cordoned": is_cordoned(world, "node-1"),
        "claims": claims(world, "node-1"),
        "maintenances": world.objects(NODEMAINTENANCES),
    }


END = {
    "left": [[], []],
    "cordoned": [True, True, False],
    "after": [False, True, False],
    "claims": [None, None, None],
    "conditions": [{}, {}, {}],
    "open": 0,
    "healthy": 4,
}
CALLED_OFF = {"left": ["p"], "cordoned": False, "claims": None, "maintenances": []}
SCRIPTS: dict[str, tuple[Script[dict[str, Any]], dict[str, Any]]] = {
    "drained and undone": (drained_and_undone, END),
    "called off": (called_off, CALLED_OFF),
}


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_manager_may_die_at_every_request(script: str, after: bool) -> None:
    body, expected = SCRIPTS[script]
    die_at_every_request(body, expected, after=after)


FAULTS = RequestFaultRates(delay=0.5, lost=0.02, unanswered=0.02, refused=0.02, cut=0.02, repeat=0.01)


@pytest.mark.parametrize("number", range(SEEDS))
def test_faults_change_nothing_in_the_end(number: int) -> None:
    async def main(sim: Sim) -> dict[str, Any]:
        async with World(sim, WorldSettings(chances=FAULTS)) as world:
            killer = sim.loop.create_task(_restarts(world, sim))
            try:
                return await drained_and_undone(world)
            finally:
                await killer  # a restart that is cut off would leave half a process behind

    assert run_sim(main, number, limit=86400.0) == END


async def _restarts(world: World, sim: Sim) -> None:
    chance = sim.stream("restarts")
    for _ in range(5):
        await sim.clock.sleep(chance.uniform(0.1, 30.0))
        await world.restart(world.evictions, chance.uniform(0.1, 5.0))


# In 848 the caches of one show none of the pods; in 1094 the one that is lost shows conditions on a node
# that the other has released already.
@pytest.mark.parametrize("number", [*range(SEEDS), 848, 1094])
def test_two_managers_at_once_and_the_first_lost_in_the_middle(number: int) -> None:
    """As when a lease is lost unnoticed: both write, guarded, until the first one dies for good."""

    def build(link: Transport, around: ComponentContext) -> Any:
        return component_manager(link, "vacate-manager", enabled(around.gates), around, PROJECTIONS)

    async def main(sim: Sim) -> dict[str, Any]:
        async with World(sim, WorldSettings(chances=FAULTS)) as world:
            await world.start("second", build, EVICTION_CONTROLLER)
            losing = sim.loop.create_task(_lost(world, sim))
            try:
                return await drained_and_undone(world)
            finally:
                await losing

    assert run_sim(main, number, limit=86400.0) == END


async def _lost(world: World, sim: Sim) -> None:
    await sim.clock.sleep(sim.stream("lost").uniform(0.1, 20.0))
    await world.evictions.crash()


@pytest.mark.parametrize("number", range((SEEDS + 2) // 3))
def test_an_outage_longer_than_a_lease_changes_nothing_in_the_end(number: int) -> None:
    """The API server is away for minutes, four times: who led has lost the lease and starts anew."""

    async def main(sim: Sim) -> dict[str, Any]:
        chance = sim.stream("outages")
        async with World(sim, WorldSettings(evictions=())) as world:
            for name in ("first", "second"):
                await world.start(name, _candidate(name), EVICTION_CONTROLLER)

            async def away() -> None:
                await sim.clock.sleep(chance.uniform(0.0, 3.0))
                await world.restart_server(chance.uniform(1.1, 5.0) * TIMINGS.duration)

            return await drained_and_undone(world, away)

    assert run_sim(main, number, limit=86400.0) == END


def _candidate(name: str) -> Build:
    def build(link: Transport, around: ComponentContext) -> Candidate:
        return Candidate(link, dataclasses.replace(around, metrics=Metrics()), name)

    return build
