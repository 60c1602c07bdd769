"""A status that another client wrote: the drain goes on and ends, and deletes no pod before its deadline."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.maintenances import drain, on_node, phase, row, status, web
from vacate.api.kinds import NODEMAINTENANCES, PODDISRUPTIONBUDGETS
from vacate.api.objects import Obj
from vacate.sim.cluster import World
from vacate.testing import pdb

pytestmark = pytest.mark.sim

FIRST, LAST = "0001-01-01T00:00:00Z", "9998-12-31T23:59:59-23:59"


async def forge(world: World, **given: Obj | list[Obj] | int) -> None:
    await world.client.patch(NODEMAINTENANCES, "kernel", {"status": given}, subresource="status")


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(("count", "edge"), [(1, FIRST), (2**31 - 1, LAST), (-(2**31), FIRST)])
def test_a_drain_goes_on_from_whatever_stands_in_its_status(count: int, edge: str) -> None:
    async def body(world: World) -> None:
        budget = pdb("web", selector={"app": "web"}, max_unavailable=0)
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        await web(world, 6)
        await drain(world, "node-1", "node-2", deadlineSeconds=600, onDeadline="Delete", maxNodes=2)
        await world.until(lambda: phase(world) == "Blocked")
        condition = {"status": "True", "reason": "R", "message": "", "lastTransitionTime": edge}
        rows = [
            {**one, "podsTotal": count, "podsEvicted": count, "percent": count, "startTime": edge}
            for one in status(world)["nodes"]
        ]
        conditions = [{**condition, "type": f"T{i}"} for i in range(20)]
        await forge(world, nodes=rows, podsTotal=count, percent=count, conditions=conditions)
        await world.sim.clock.sleep(300)
        assert on_node(world, "node-1"), "a pod was deleted before the deadline"
        assert row(world, "node-1")["phase"] == "Blocked"
        await world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        await world.until(lambda: phase(world) == "Drained", 3600.0)
        assert (on_node(world, "node-1"), status(world)["percent"]) == ([], 100)

    in_world(body)


def test_what_a_forged_status_can_do() -> None:
    """It is the drain's record: a node with another UID counts as done, and the next has its turn."""

    async def body(world: World) -> None:
        budget = pdb("web", selector={"app": "web"}, max_unavailable=0)
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        await web(world, 6)
        await drain(world, "node-1", "node-2", maxNodes=1)
        await world.until(lambda: phase(world) == "Blocked")
        assert row(world, "node-2")["phase"] == "Pending"
        first, second = status(world)["nodes"]
        await forge(world, nodes=[{**first, "uid": "no-such-uid"}, second])
        await world.until(lambda: row(world, "node-1")["phase"] == "Replaced")
        await world.until(lambda: row(world, "node-2")["phase"] == "Blocked")
        assert on_node(world, "node-1"), "no pod was evicted past the budget"
        await forge(world, nodes=[{**one, "uid": "no-such-uid"} for one in status(world)["nodes"]])
        await world.until(lambda: phase(world) == "Drained")
        assert on_node(world, "node-2")

    in_world(body)
