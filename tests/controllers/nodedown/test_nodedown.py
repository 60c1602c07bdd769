"""Pods of a node that does not report say so: few writes, whatever happens to the manager meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from support.simulated.clusters import Requests, in_world
from support.simulated.workloads import condition_of
from vacate.api.kinds import NODES, PODS
from vacate.api.times import format_time
from vacate.sim.cluster import World
from vacate.sim.faults.transport import NO_FAULT, Fault
from vacate.testing import pod
from vacate.wire.message import Request
from vacate.wiring.controllers import CONTROLLERS

pytestmark = pytest.mark.sim

CONTROLLER = [one for one in CONTROLLERS if one.component == "nodedown-controller"]
MANY = 100
LATE = 120.0
FEW = 5  # that a cache does not show yet when another change of the pod comes


def down(world: World) -> list[str]:
    """What the pods of the first node say; nothing of those that say nothing."""
    pods = [one for one in world.objects(PODS) if one["spec"].get("nodeName") == "node-1"]
    return [condition_of(one, "vacate.dev/NodeDown") for one in pods]


async def lost(world: World, count: int) -> None:
    for number in range(count):
        spec = {"nodeName": "node-1", "tolerations": [{"operator": "Exists"}]}
        await world.client.create(PODS, pod(f"p{number}", spec=spec), "default")
    await world.until(lambda: len(world.healthy_pods()) == count, 300, "they run")
    world.pool.isolate("node-1")


def test_each_pod_is_written_once_when_its_node_is_lost_and_once_when_it_is_back() -> None:
    async def body(world: World) -> None:
        await lost(world, MANY)
        sent = Requests(world)
        await world.until(lambda: down(world) == ["True"] * MANY, 120, "all say so")
        await world.sim.clock.sleep(600)
        assert sent.count <= MANY + FEW
        world.pool.rejoin("node-1")
        await world.until(lambda: down(world) == ["False"] * MANY, 120, "none does any more")
        await world.sim.clock.sleep(600)
        assert sent.count <= 2 * (MANY + FEW)

    in_world(body, evictions=CONTROLLER)


def test_a_manager_that_was_away_when_the_node_came_back_or_was_lost_makes_up_for_it() -> None:
    async def body(world: World) -> None:
        await world.evictions.crash()
        await lost(world, 2)
        await world.until(lambda: condition_of(world.find(NODES, "node-1") or {}, "Ready") == "Unknown", 120)
        assert down(world) == ["", ""]
        await world.evictions.start()
        await world.until(lambda: down(world) == ["True"] * 2, 60, "they say so late")
        await world.evictions.crash()
        world.pool.rejoin("node-1")
        await world.until(lambda: condition_of(world.find(NODES, "node-1") or {}, "Ready") == "True", 120)
        assert down(world) == ["True"] * 2
        await world.evictions.start()
        await world.until(lambda: down(world) == ["False"] * 2, 60, "and take it back late")

    in_world(body, evictions=CONTROLLER)


@dataclass(frozen=True, slots=True)
class LateNodes:
    """A watch of nodes tells its news so many seconds late; requests are answered at once."""

    seconds: float

    def fault(self, request: Request) -> Fault:
        """Late where it is that watch."""
        is_watch = "watch" in request.query and request.path.endswith("/nodes")
        return Fault(lag=self.seconds) if is_watch else NO_FAULT


def test_a_manager_that_hears_late_of_a_node_does_not_undo_what_another_has_written() -> None:
    """For a moment there may be two: each would undo what the other has just written, without end."""

    async def body(world: World) -> None:
        await lost(world, 1)
        await world.until(lambda: condition_of(world.find(NODES, "node-1") or {}, "Ready") == "Unknown", 120)
        now = {"lastTransitionTime": format_time(world.sim.clock.now())}
        known = {"type": "vacate.dev/NodeDown", "status": "True", "reason": "NodePartitioned"} | now
        sent = Requests(world)
        await world.client.patch_status(PODS, "p0", {"status": {"conditions": [known]}}, "default")
        await world.sim.clock.sleep(LATE / 2)
        assert 1 <= sent.count <= FEW, "it looked, and wrote nothing"
        assert down(world) == ["True"]
        world.pool.rejoin("node-1")
        await world.until(lambda: down(world) == ["False"], LATE * 2, "it hears of it at last")

    plans = {"evictions": LateNodes(LATE)}
    in_world(body, evictions=CONTROLLER, plans=lambda name: plans.get(name, LateNodes(0)))
