"""Members of StatefulSets evicted in order, disturbed: crashes, cancellations, faults and users."""

from __future__ import annotations

import contextlib

import pytest

from support.effort import seeds, step
from support.simulated.deployments import completed, requested
from support.simulated.dyingmanager import Run, die_at_every_request
from support.simulated.statefulsets import fewest, gone, is_whole, members, ready_statefulset
from support.simulated.workloads import condition_of, history, writes
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import Obj
from vacate.errors import NotFound
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.transport import RequestFaultRates
from vacate.sim.run import Sim, run_sim

pytestmark = [
    pytest.mark.sim,
    pytest.mark.thorough(beyond=1),
    pytest.mark.timeout(900),  # a thorough run tries every moment of a crash
]

SEEDS = seeds("VACATE_STATEFUL_SEEDS", 6)
# Every so many requests and writes; 1 is all of them, which takes minutes.
STEP = step("VACATE_STATEFUL_STEP", 7)
DECLINED = "statefulset.apps.k8s.io/Declined"
PARALLEL = {"podManagementPolicy": "Parallel"}
FAULTS = RequestFaultRates(delay=0.3, lost=0.01, unanswered=0.01, refused=0.01, cut=0.01, repeat=0.01)


async def both_evicted(world: World) -> tuple[list[str], int]:
    """Both of two members are evicted."""
    old = await ready_statefulset(world, 2, spec=PARALLEL)
    await completed(world, *await requested(world, *old))
    await world.until(lambda: is_whole(world, 2))
    return gone(world), fewest(world, 2)


async def both_evicted_in_any_order(world: World) -> tuple[list[str], int]:
    """A crash may come between the two."""
    went, least = await both_evicted(world)
    return sorted(went), least


def test_the_last_member_goes_first() -> None:
    assert Run(both_evicted).play() == (["db-1", "db-0"], 1)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_manager_may_die_at_every_request(after: bool) -> None:
    expected = (["db-0", "db-1"], 1)
    die_at_every_request(both_evicted_in_any_order, expected, after=after, first=1 + after, step=STEP)


def test_a_request_may_be_cancelled_after_every_write() -> None:
    """Whatever the moment, there is never more than one member down, and the other one still goes."""

    def play(number: int) -> tuple[bool, int]:
        async def main(sim: Sim) -> tuple[bool, int]:
            async with World(sim, WorldSettings()) as world:
                old = await ready_statefulset(world, 3, spec=PARALLEL)
                await world.settle()
                first, second = await requested(world, old[2], old[0])
                began = writes(world)
                await world.until(lambda: writes(world) >= began + number or _is_over(world, first))
                over = _is_over(world, first)
                with contextlib.suppress(NotFound):
                    await world.client.delete(EVICTIONREQUESTS, first, "default")
                await completed(world, second)
                await world.until(lambda: is_whole(world, 3))
                assert gone(world)[-1] == "db-0"
                return over, fewest(world, 3)

        return run_sim(main, number, limit=86400.0)

    number = 0
    while True:
        over, least = play(number)
        assert least == 2, f"cancelled after {number} writes"
        if over:
            break
        number += STEP
    assert number > 5


@pytest.mark.parametrize("number", range(SEEDS))
def test_users_requests_faults_and_crashes_at_random(number: int) -> None:
    """Evictions never take more than one member at a time, unless the interceptor has declined."""

    async def main(sim: Sim) -> None:
        async with World(sim, WorldSettings(chances=FAULTS)) as world:
            chance = sim.stream("user")
            await ready_statefulset(world, 4, spec=PARALLEL)
            for _ in range(6):
                match int(chance.uniform(0.0, 4.0)):
                    case 0 | 1:
                        await _request_one(world, chance.uniform(0.0, 1.0))
                    case 2:
                        await world.restart(world.evictions, chance.uniform(0.1, 5.0))
                    case _:
                        if found := _open(world):
                            with contextlib.suppress(NotFound):
                                await world.client.delete(EVICTIONREQUESTS, found[0], "default")
                await world.sim.clock.sleep(chance.uniform(0.1, 20.0))
            await completed(world, *_open(world), timeout=20_000.0)
            await world.until(lambda: is_whole(world, 4), 3600.0)
            assert fewest(world, 4) >= 3 - _declined(world)

    run_sim(main, number, limit=7 * 86400.0)


async def _request_one(world: World, share: float) -> None:
    here = [one for one in members(world) if not one["metadata"].get("deletionTimestamp")]
    free = [one for one in here if world.find(EVICTIONREQUESTS, one["metadata"]["uid"], "default") is None]
    ready = [one for one in free if "vacate.dev/registered" in one["metadata"].get("annotations", {})]
    if ready:
        await requested(world, ready[int(share * (len(ready) - 1))])


def _open(world: World) -> list[str]:
    found = world.objects(EVICTIONREQUESTS, "default")
    return [str(one["metadata"]["name"]) for one in found if condition_of(one, "Complete") != "True"]


def _is_over(world: World, request: str) -> bool:
    return request not in _open(world)


def _declined(world: World) -> int:
    """How many members were evicted although the interceptor would have waited."""
    return len({obj["metadata"]["name"] for _, obj in history(world, EVICTIONREQUESTS) if _has_declined(obj)})


def _has_declined(request: Obj) -> bool:
    return condition_of(request, DECLINED) == "True"
