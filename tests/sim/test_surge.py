"""Workloads that move, disturbed: crashes, cancellations, faults and users end where the user left things."""

from __future__ import annotations

from typing import Any

import pytest

from support.effort import CRASH_STEP, THOROUGH, seeds
from support.simulated.deployments import (
    cancel,
    completed,
    fewest,
    is_over,
    is_quiet,
    moving,
    names,
    one_of,
    open_requests,
    pods,
    replicas,
    request_any,
    requested,
)
from support.simulated.dyingmanager import Script, die_at_every_request
from support.simulated.workloads import condition_of, history, writes
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.transport import RequestFaultRates
from vacate.sim.run import Sim, run_sim

pytestmark = [
    pytest.mark.sim,
    pytest.mark.thorough(beyond=1),
    pytest.mark.timeout(900),  # a thorough run tries every moment of a crash
]


PARTS = 4 if THOROUGH else 1
"""Into how many tests the long runs are split, so that each is short also on a busy machine."""
SEEDS = seeds("VACATE_SURGE_SEEDS", 10)
DECLINED = "deployment.apps.k8s.io/Declined"


async def moved(world: World) -> dict[str, Any]:
    """One of two pods is moved."""
    old = (await moving(world, 2))[0]
    await completed(world, *await requested(world, old))
    await world.until(lambda: is_quiet(world))
    return {
        "gone": old["metadata"]["name"] not in names(world),
        "replicas": replicas(world),
        "fewest": fewest(world, 2),
    }


async def cancelled(world: World) -> dict[str, Any]:
    """The request is taken back while the surge is under way: the same pods as before."""
    old = await moving(world, 2)
    before = names(world)
    (request,) = await requested(world, old[0])
    await world.until(lambda: len(pods(world)) == 3)
    await cancel(world, request)
    await world.until(lambda: is_quiet(world) and len(pods(world)) == 2)
    return {"same": names(world) == before, "replicas": replicas(world), "fewest": fewest(world, 2)}


SCRIPTS: dict[str, tuple[Script[dict[str, Any]], dict[str, Any]]] = {
    "moved": (moved, {"gone": True, "replicas": 2, "fewest": 2}),
    "cancelled": (cancelled, {"same": True, "replicas": 2, "fewest": 2}),
}


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_manager_may_die_at_every_request(script: str, after: bool, part: int) -> None:
    body, expected = SCRIPTS[script]
    die_at_every_request(body, expected, after=after, first=1 + part, every=PARTS)


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(PARTS))
def test_a_request_may_be_cancelled_after_every_write(part: int) -> None:
    """Whatever the moment, replicas and annotations return, and there is never a pod too few."""

    def play(number: int) -> tuple[bool, int]:
        async def main(sim: Sim) -> tuple[bool, int]:
            async with World(sim) as world:
                old = await moving(world, 2)
                await world.settle()
                (request,) = await requested(world, old[0])
                began = writes(world)
                await world.until(lambda: writes(world) >= began + number or is_over(world, request))
                over = is_over(world, request)
                await cancel(world, request)
                await world.until(lambda: is_quiet(world) and len(pods(world)) == 2)
                assert replicas(world) == 2
                return over, fewest(world, 2)

        return run_sim(main, number, limit=86400.0)

    number = part
    while True:
        over, least = play(number)
        assert least == 2, f"cancelled after {number} writes"
        if over:
            break
        number += PARTS * CRASH_STEP
    assert number > 10


FAULTS = RequestFaultRates(delay=0.3, lost=0.01, unanswered=0.01, refused=0.01, cut=0.01, repeat=0.01)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("number", range(SEEDS))
def test_users_requests_faults_and_crashes_at_random(number: int) -> None:
    async def main(sim: Sim) -> None:
        async with World(sim, WorldSettings(chances=FAULTS)) as world:
            chance = sim.stream("user")
            await moving(world, 3)
            wanted = [3]
            for _ in range(8):
                await sim.clock.sleep(chance.uniform(0.0, 15.0))
                match one_of(chance, ["scale", "request", "request", "cancel", "crash"]):
                    case "scale":
                        await _scale(world, one_of(chance, [2, 3, 4, 5, 6]), wanted)
                    case "request":
                        await request_any(world, chance)
                    case "cancel":
                        for one in open_requests(world)[:1]:
                            await cancel(world, one)
                    case _:
                        await world.restart(world.evictions, chance.uniform(0.1, 5.0))
            await completed(world, *open_requests(world), timeout=20_000.0)
            await world.until(lambda: is_quiet(world), 3600.0)
            assert replicas(world) == wanted[-1]
            assert fewest(world, 3) >= min(wanted) - _declined(world)

    run_sim(main, number, limit=7 * 86400.0)


async def _scale(world: World, count: int, wanted: list[int]) -> None:
    """A user sets a count that is not the present one: setting the same is no change that could be seen."""
    if count != replicas(world):
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": count}}, "default")
        wanted.append(count)


def _declined(world: World) -> int:
    """How many pods were evicted without a replacement."""
    found = {obj["metadata"]["name"] for _, obj in history(world, EVICTIONREQUESTS) if _has_declined(obj)}
    return len(found)


def _has_declined(request: dict[str, Any]) -> bool:
    return (
        condition_of(request, DECLINED) == "True"
        or condition_of(request, "replicaset.apps.k8s.io/Declined") == "True"
    )
