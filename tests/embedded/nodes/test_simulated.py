"""One simulated node with a link of its own, which can be cut."""

from __future__ import annotations

import asyncio

import pytest

from support.simulated.clusters import in_world
from vacate.api.kinds import LEASES, NODES, PODS
from vacate.api.objects import dig
from vacate.embedded.bootstrap.identities import node as node_identity
from vacate.embedded.nodes.nodeobjects import NodeShape
from vacate.embedded.nodes.pool import NodePool
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.timings import PodTimings
from vacate.metrics import Metrics
from vacate.sim.cluster import World
from vacate.testing import pod
from vacate.wiring.components import ComponentContext, component_dependencies

pytestmark = pytest.mark.sim

SETTINGS = NodeSettings(timings=PodTimings(start=1, stop=5))


async def start(world: World, shape: NodeShape) -> asyncio.Task[None]:
    link = world.network.link(shape.name, node_identity(shape.name))
    around = ComponentContext(world.sim.clock, world.sim.stream(shape.name), Metrics())
    deps, recorder = component_dependencies(link, "kubelet", around)
    manager = NodePool(deps, [shape], SETTINGS).manager(recorder)
    task = asyncio.create_task(manager.run(), name=shape.name)
    await manager.wait_ready()
    return task


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def alone(world: World, name: str) -> str | None:
    phase: str | None = dig(world.find(PODS, name, "default"), "status", "phase")
    return phase


def test_a_node_of_its_own_registers_and_runs_its_pods_only(sim_seed: int) -> None:
    async def body(world: World) -> None:
        task = await start(world, NodeShape("lone", index=7, zone="zone-x", cpu="2"))
        await world.until(lambda: world.find(LEASES, "lone", "kube-node-lease"))
        found = world.find(NODES, "lone")
        assert found is not None
        assert found["status"]["capacity"]["cpu"] == "2"
        await world.client.create(PODS, pod("mine", node="lone"), "default")
        await world.client.create(PODS, pod("other", node="elsewhere"), "default")
        await world.until(lambda: alone(world, "mine") == "Running")
        assert alone(world, "other") == "Pending"
        await world.client.delete(PODS, "mine", "default")
        await world.until(lambda: alone(world, "mine") is None)
        await stop(task)

    in_world(body, sim_seed, nodes=0, controllers=())


def test_a_node_cut_off_from_its_server_catches_up(sim_seed: int) -> None:
    async def body(world: World) -> None:
        task = await start(world, NodeShape("lone"))
        await world.client.create(PODS, pod("old", node="lone"), "default")
        await world.until(lambda: alone(world, "old") == "Running")
        world.network.cut("lone")
        await world.client.delete(PODS, "old", "default")
        await world.client.create(PODS, pod("new", node="lone"), "default")
        await world.sim.clock.sleep(1200)
        assert (alone(world, "old"), alone(world, "new")) == ("Running", "Pending")
        world.network.mend("lone")
        await world.until(lambda: alone(world, "old") is None and alone(world, "new") == "Running")
        await stop(task)

    in_world(body, sim_seed, nodes=0, controllers=())


def test_a_node_that_starts_again_finds_itself_registered(sim_seed: int) -> None:
    async def body(world: World) -> None:
        task = await start(world, NodeShape("lone"))
        await world.until(lambda: world.find(NODES, "lone"))
        await stop(task)
        before = world.find(NODES, "lone")
        assert before is not None
        task = await start(world, NodeShape("lone", cpu="4"))
        await world.until(lambda: dig(world.find(NODES, "lone"), "status", "allocatable", "cpu") == "4")
        after = world.find(NODES, "lone")
        assert after is not None
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        await stop(task)

    in_world(body, sim_seed, nodes=0, controllers=())
