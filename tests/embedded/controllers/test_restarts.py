"""Controllers that come back: at rest they write nothing, in a storm they bring everything to its end."""

from __future__ import annotations

import pytest

from support.simulated.workloads import created, in_world, rollout_done, running, writes
from vacate.api.kinds import DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS, REPLICASETS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.errors import ApiError, TransportError
from vacate.sim.cluster import World
from vacate.testing import pdb

pytestmark = pytest.mark.sim


def test_controllers_that_start_on_a_settled_cluster_write_nothing() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=5)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", max_unavailable=1), "default")
        await world.settle(60)
        before = writes(world)
        await world.restart(world.controllers, 1.0)
        await world.restart(world.scheduler, 1.0)
        await world.sim.clock.sleep(120)
        assert writes(world) == before

    in_world(body)


async def patch_with_retries(world: World, change: Obj) -> None:
    """Patch the deployment, also while the server is away."""
    while True:
        try:
            await world.client.patch(DEPLOYMENTS, "web", change, "default")
            return
        except (ApiError, TransportError):
            await world.sim.clock.sleep(0.5)


async def mishap(world: World, chance: float) -> None:
    if chance < 1:
        await world.restart(world.controllers, chance)
    elif chance < 2:
        await world.restart(world.scheduler, chance - 1)
    elif chance < 3:
        await world.restart_server(chance - 2)
    else:
        world.pool.crash("node-1")
        await world.sim.clock.sleep(100 * (chance - 3))
        world.pool.start("node-1")


@pytest.mark.parametrize(("seed", "latency"), [(6, (0.0005, 0.005)), (5, (0.01, 0.3))], ids=["quick", "slow"])
@pytest.mark.thorough
def test_rollouts_end_well_whatever_crashes_on_the_way(seed: int, latency: tuple[float, float]) -> None:
    async def body(world: World) -> None:
        chance = world.sim.stream("mishaps")
        await running(world, replicas=6)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", max_unavailable=1), "default")
        for number in range(4):
            containers = [{"name": "main", "image": f"registry.example/app:{number + 2}"}]
            wanted = int(chance.uniform(3, 9))
            await patch_with_retries(
                world, {"spec": {"replicas": wanted, "template": {"spec": {"containers": containers}}}}
            )
            await world.sim.clock.sleep(chance.uniform(0, 4))
            await mishap(world, chance.uniform(0, 4))
        await world.until(lambda: rollout_done(world), timeout=1200)
        await world.settle(30)
        wanted = created(world, DEPLOYMENTS, "web")["spec"]["replicas"]
        assert len(world.objects(PODS)) == len(world.healthy_pods()) == wanted
        status = created(world, PODDISRUPTIONBUDGETS, "web")["status"]
        assert (status["expectedPods"], status["currentHealthy"], status["disruptionsAllowed"]) == (
            wanted,
            wanted,
            1,
        )
        await world.client.delete(
            DEPLOYMENTS, "web", "default", DeleteOptions(propagation_policy="Foreground")
        )
        await world.until(
            lambda: not any(world.objects(kind) for kind in (DEPLOYMENTS, REPLICASETS, PODS)), timeout=300
        )

    in_world(body, seed, latency=latency)
