"""Workloads that move through their autoscaler, disturbed: all ends where the user left things."""

from __future__ import annotations

from typing import Any

import pytest

from support.effort import seeds, step
from support.simulated.autoscalers import (
    autoscaled,
    floor,
    highest_floor,
    is_restored,
    measured,
    patch_autoscaler,
)
from support.simulated.deployments import (
    cancel,
    completed,
    fewest,
    is_over,
    names,
    one_of,
    open_requests,
    replicas,
    request_any,
    requested,
)
from support.simulated.dyingmanager import Run, die_at_every_request
from support.simulated.workloads import writes
from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, NODES, PODS
from vacate.api.objects import Obj
from vacate.client.transport import Transport
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.surge import LOWEST_COST
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.crashpoints import CrashPoint
from vacate.sim.faults.transport import RequestFaultRates
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request, Response

pytestmark = [
    pytest.mark.sim,
    pytest.mark.thorough(beyond=1),
    pytest.mark.timeout(900),  # a thorough run tries every moment of a crash
]

STEP = step("VACATE_SURGE_STEP", 17)
"""Every so many requests and writes are tried; 1 tries them all, which takes minutes."""
SEEDS = seeds("VACATE_SURGE_SEEDS", 6)
FAULTS = RequestFaultRates(delay=0.3, lost=0.01, unanswered=0.01, refused=0.01, cut=0.01, repeat=0.01)


async def moved(world: World) -> dict[str, Any]:
    """One of two pods is moved."""
    old = (await autoscaled(world, 2))[0]
    await completed(world, *await requested(world, old))
    await world.until(lambda: is_restored(world) and replicas(world) == 2)
    return {
        "gone": old["metadata"]["name"] not in names(world),
        "floor": floor(world),
        "fewest": fewest(world, 2),
    }


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_manager_may_die_at_every_request(after: bool) -> None:
    expected = {"gone": True, "floor": 1, "fewest": 2}
    die_at_every_request(moved, expected, after=after, first=1 + 3 * after, step=STEP)


@pytest.mark.thorough
def test_a_request_may_be_cancelled_after_every_write() -> None:
    def play(number: int) -> bool:
        async def main(sim: Sim) -> bool:
            async with World(sim, WorldSettings()) as world:
                old = await autoscaled(world, 2)
                await world.settle()
                (request,) = await requested(world, old[0])
                began = writes(world)
                await world.until(lambda: writes(world) >= began + number or is_over(world, request))
                over = is_over(world, request)
                await cancel(world, request)
                await world.until(lambda: is_restored(world) and replicas(world) == 2)
                assert (floor(world), fewest(world, 2)) == (1, 2), f"cancelled after {number} writes"
                return over

        return run_sim(main, number, limit=86400.0)

    number = 0
    while not play(number):
        number += STEP
    assert number > 10


class BeforeLowering(CrashPoint):
    """Trips when the floor is about to be lowered: the pods that are to go are marked already."""

    def __init__(self) -> None:
        super().__init__()
        self._marked = False

    async def pass_over(self, transport: Transport, request: Request) -> Response:
        """Stop the first patch of an autoscaler after a pod was marked."""
        if self._marked and request.method == "PATCH" and HORIZONTALPODAUTOSCALERS.plural in request.path:
            self._at = self._at or self.count + 1
        self._marked = self._marked or LOWEST_COST.encode() in request.body
        return await super().pass_over(transport, request)


def test_a_request_cancelled_after_its_pod_was_marked_keeps_the_pod() -> None:
    """The old pods share a node, so that of two with the same deletion cost an old one would go first."""

    async def script(world: World) -> None:
        home, other = (node["metadata"]["name"] for node in world.objects(NODES))
        await _cordon(world, other, wanted=True)
        old = await autoscaled(world, 2)
        before = names(world)
        await _cordon(world, other, wanted=False)
        await _cordon(world, home, wanted=True)
        (request,) = await requested(world, old[0])
        await world.until(lambda: LOWEST_COST in _costs(world, old[0]))
        await cancel(world, request)
        await world.until(lambda: is_restored(world) and replicas(world) == 2)
        assert (floor(world), names(world)) == (1, before)

    Run(script, wire=BeforeLowering(), settings=WorldSettings(evictions=(), nodes=2)).play()


@pytest.mark.parametrize("number", range(SEEDS))
def test_autoscaler_user_faults_and_crashes_at_random(number: int) -> None:
    """Floor and annotations return to what the user last set; the count is what the metric wants, or within
    the user's bounds."""

    async def main(sim: Sim) -> None:
        async with World(sim, WorldSettings(chances=FAULTS)) as world:
            chance = sim.stream("user")
            await autoscaled(world, 3, most=8, metric="30")
            wanted, metric = [1], 30
            for _ in range(8):
                await sim.clock.sleep(chance.uniform(0.0, 30.0))
                match one_of(chance, ["floor", "metric", "scale", "request", "request", "cancel", "crash"]):
                    case "floor":
                        await _set_floor(world, one_of(chance, [1, 2, 3]), wanted)
                    case "metric":
                        metric = one_of(chance, [10, 30, 50])
                        await measured(world, str(metric))
                    case "scale":
                        change = {"spec": {"replicas": one_of(chance, [2, 3, 4, 5])}}
                        await world.client.patch(DEPLOYMENTS, "web", change, "default")
                    case "request":
                        await request_any(world, chance)
                    case "cancel":
                        for one in open_requests(world)[:1]:
                            await cancel(world, one)
                    case _:
                        await world.restart(world.evictions, chance.uniform(0.1, 5.0))
            await completed(world, *open_requests(world), timeout=20_000.0)
            final = max(wanted[-1], metric // 10)
            await world.until(lambda: is_restored(world) and replicas(world) == final, 3600.0)
            assert floor(world) == wanted[-1]
            assert highest_floor(world) <= 8

    run_sim(main, number, limit=7 * 86400.0)


async def _cordon(world: World, node: str, *, wanted: bool) -> None:
    await world.client.patch(NODES, node, {"spec": {"unschedulable": wanted or None}})


def _costs(world: World, pod: Obj) -> set[str]:
    """The deletion cost of the pod as it is now."""
    found = world.find(PODS, pod["metadata"]["name"], "default")
    return {found["metadata"]["annotations"].get(DELETION_COST)} if found else set()


async def _set_floor(world: World, count: int, wanted: list[int]) -> None:
    """A user sets a floor that is not the present one: setting the same is no change that could be seen."""
    if count != floor(world):
        await patch_autoscaler(world, {"spec": {"minReplicas": count}})
        wanted.append(count)
