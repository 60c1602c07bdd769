"""Whole scenarios of a cluster in virtual time, over several seeds and latencies."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.simulated.clusters import INSTANT, QUICK, SLOW, in_world
from vacate.api.kinds import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
)
from vacate.api.objects import Obj, dig
from vacate.client.transport import Transport
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.timings import PodTimings
from vacate.errors import OutOfTime, TooManyRequests
from vacate.runtime.manager import Manager
from vacate.sim.cluster import World
from vacate.sim.faults.transport import RequestFaultRates
from vacate.sim.history import budget_breaches, health, shared_addresses
from vacate.testing import deployment, namespace, pdb
from vacate.wiring.components import ComponentContext, component_manager

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

LATENCIES = pytest.mark.parametrize("latency", [INSTANT, QUICK, SLOW], ids=["instant", "quick", "slow"])
LIVELY = NodeSettings(timings=PodTimings(start=2, ready=3, stop=4))


async def deploy(world: World, replicas: int = 6, **overrides: Any) -> None:
    await world.client.create(DEPLOYMENTS, deployment("web", replicas=replicas, **overrides), "default")
    await world.until(lambda: len(world.healthy_pods()) == replicas, what="all replicas are ready")


async def guard(world: World, min_available: int) -> None:
    await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=min_available), "default")
    await world.until(
        lambda: (
            dig(world.find(PODDISRUPTIONBUDGETS, "web", "default"), "status", "currentHealthy")
            == len(world.healthy_pods())
        )
    )


async def drain(world: World, node: str) -> int:
    """Cordon the node and evict its pods as kubectl does; returns how often a budget refused."""
    await world.client.patch(NODES, node, {"spec": {"unschedulable": True}})
    refusals = 0
    for pod in pods_on(world, node):
        while True:
            try:
                await world.client.evict(pod["metadata"]["name"], "default")
                break
            except TooManyRequests:
                refusals += 1
                await world.sim.clock.sleep(5)
    await world.until(lambda: not pods_on(world, node), what=f"{node} is empty")
    return refusals


def pods_on(world: World, node: str) -> list[Obj]:
    return [pod for pod in world.objects(PODS, "default") if dig(pod, "spec", "nodeName") == node]


def check_history(world: World) -> None:
    """What must have held at every revision."""
    records = list(world.server.log.records.values())
    assert not list(budget_breaches(records))
    assert not list(shared_addresses(records))


@pytest.mark.thorough(beyond=1)
@LATENCIES
def test_a_deployment_spreads_over_the_nodes(latency: tuple[float, float], sim_seed: int) -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=6)
        assert sorted(len(pods_on(world, f"node-{n}")) for n in (1, 2, 3)) == [2, 2, 2]
        await world.settle()
        found = world.find(DEPLOYMENTS, "web", "default")
        assert found is not None
        assert found["status"]["availableReplicas"] == 6
        check_history(world)

    in_world(body, sim_seed, latency=latency, disk=latency, node=LIVELY)


@pytest.mark.thorough(beyond=1)
@LATENCIES
def test_a_drain_never_breaks_the_budget(latency: tuple[float, float], sim_seed: int) -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=6)
        await guard(world, min_available=5)
        start = world.server.store.revision
        assert await drain(world, "node-1") > 0
        await world.client.patch(NODES, "node-1", {"spec": {"unschedulable": None}})
        await drain(world, "node-2")
        await world.until(lambda: len(world.healthy_pods()) == 6)
        check_history(world)
        counts = [n for revision, n in health(world.server.log.records.values(), "default", "app", "web")
                  if revision > start]  # fmt: skip
        assert min(counts) >= 5

    in_world(body, sim_seed, latency=latency, disk=latency, node=LIVELY)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_a_drain_over_a_bad_network_never_breaks_the_budget(shuffle: bool, sim_seed: int) -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=6)
        await guard(world, min_available=5)
        await drain(world, "node-1")
        await world.until(lambda: len(world.healthy_pods()) == 6, timeout=3600)
        check_history(world)

    bad = RequestFaultRates(
        delay=0.5, lost=0.05, unanswered=0.05, refused=0.05, cut=0.2, stall=0.02, repeat=0.1
    )
    in_world(body, sim_seed, shuffle=shuffle, node=LIVELY, chances=bad)


def test_many_at_once_evict_no_more_than_the_budget_allows(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=8)
        await guard(world, min_available=6)
        names = [pod["metadata"]["name"] for pod in world.healthy_pods()]
        answers = await evict_together(world, names)
        assert answers.count("evicted") == 2
        assert answers.count("refused") == 6
        check_history(world)

    in_world(body, sim_seed, latency=SLOW)


async def evict_together(world: World, names: list[str]) -> list[str]:
    async def one(name: str) -> str:
        try:
            await world.client.evict(name, "default")
        except TooManyRequests:
            return "refused"
        return "evicted"

    return await asyncio.gather(*(one(name) for name in names))


def test_a_crashed_node_comes_back_with_its_pods(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=6)
        mine = {pod["metadata"]["uid"] for pod in pods_on(world, "node-2")}
        world.pool.crash("node-2")
        await world.sim.clock.sleep(20)
        world.pool.start("node-2")
        await world.settle()
        assert len(world.healthy_pods()) == 6
        assert {pod["metadata"]["uid"] for pod in pods_on(world, "node-2")} == mine
        restarts = [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods_on(world, "node-2")]
        assert restarts == [1, 1]

    in_world(body, sim_seed)


def test_pods_of_a_dead_node_are_replaced_and_leave_when_it_is_back(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=6)
        lost = {pod["metadata"]["uid"] for pod in pods_on(world, "node-2")}
        world.pool.crash("node-2")
        await world.until(lambda: not node_ready(world, "node-2"), timeout=60, what="the silence is noticed")
        await world.until(lambda: healthy_elsewhere(world, "node-2") == 6, timeout=400, what="replacement")
        assert {pod["metadata"]["uid"] for pod in pods_on(world, "node-2")} == lost
        world.pool.start("node-2")
        await world.until(lambda: node_ready(world, "node-2"))
        await world.settle()
        assert not lost & {pod["metadata"]["uid"] for pod in world.objects(PODS, "default")}
        assert len(world.healthy_pods()) == 6
        check_history(world)

    in_world(body, sim_seed)


def node_ready(world: World, name: str) -> bool:
    conditions = dig(world.find(NODES, name), "status", "conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def healthy_elsewhere(world: World, node: str) -> int:
    return sum(pod["spec"]["nodeName"] != node for pod in world.healthy_pods())


def test_an_isolated_node_loses_its_pods_and_learns_of_it_later(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=6)
        world.pool.isolate("node-3")
        await world.until(lambda: not node_ready(world, "node-3"), timeout=60)
        await world.until(lambda: healthy_elsewhere(world, "node-3") == 6, timeout=400)
        assert all(pod["metadata"].get("deletionTimestamp") for pod in pods_on(world, "node-3"))
        world.pool.rejoin("node-3")
        await world.settle()
        assert len(world.objects(PODS, "default")) == len(world.healthy_pods()) == 6

    in_world(body, sim_seed)


def test_a_namespace_goes_with_all_that_is_in_it(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await world.client.create(NAMESPACES, namespace("shop"))
        await world.client.create(DEPLOYMENTS, deployment("web", namespace="shop", replicas=4), "shop")
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
        await world.client.create(CONFIGMAPS, config, "shop")
        await world.until(lambda: len(world.healthy_pods("shop")) == 4)
        await world.client.delete(NAMESPACES, "shop")
        await world.until(lambda: world.find(NAMESPACES, "shop") is None, what="the namespace is gone")
        for kind in (PODS, REPLICASETS, DEPLOYMENTS, CONFIGMAPS):
            assert not world.objects(kind, "shop")

    in_world(body, sim_seed)


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize("part", ["server", "controllers", "scheduler", "nodes"])
def test_a_drain_survives_the_crash_of_any_part(part: str, sim_seed: int) -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=6)
        await guard(world, min_available=4)
        await world.client.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
        for pod in pods_on(world, "node-1"):
            await world.client.evict(pod["metadata"]["name"], "default")
        await world.sim.clock.sleep(1.5)
        if part == "server":
            await world.restart_server(down=30)
        else:
            await world.restart(getattr(world, part), down=30)
        await world.until(lambda: len(world.healthy_pods()) == 6 and not pods_on(world, "node-1"))
        check_history(world)

    in_world(body, sim_seed, node=LIVELY)


def test_what_was_acknowledged_outlives_a_crash_of_the_server(sim_seed: int) -> None:
    async def body(world: World) -> None:
        acknowledged = []
        for number in range(20):
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}}
            await world.client.create(CONFIGMAPS, config, "default")
            acknowledged.append(f"c-{number}")
            if number % 7 == 3:
                await world.restart_server()
        names = [one["metadata"]["name"] for one in world.objects(CONFIGMAPS, "default")]
        assert sorted(acknowledged) == names

    in_world(body, sim_seed, controllers=())


def test_a_rollout_keeps_most_replicas_available(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=4)
        await world.settle(20)
        start = world.server.store.revision
        image = [{"name": "main", "image": "registry.example/app:2"}]
        change = {"spec": {"template": {"spec": {"containers": image}}}}
        await world.client.patch(DEPLOYMENTS, "web", change, "default")
        await world.until(lambda: images(world) == ["registry.example/app:2"] * 4)
        counts = [n for revision, n in health(world.server.log.records.values(), "default", "app", "web")
                  if revision > start]  # fmt: skip
        assert min(counts) >= 3

    in_world(body, sim_seed, node=LIVELY)


def images(world: World) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in world.healthy_pods()]


def test_an_expectation_that_fails_says_so_in_virtual_time() -> None:
    async def body(world: World) -> None:
        began = world.sim.loop.time()
        with pytest.raises(OutOfTime, match="a miracle did not come true in 3600 s"):
            await world.until(lambda: False, timeout=3600, what="a miracle")
        assert world.sim.loop.time() - began == pytest.approx(3600)

    in_world(body, node=NodeSettings(heartbeat_seconds=300))


def test_a_world_has_the_same_history_for_the_same_seed() -> None:
    async def body(world: World) -> None:
        await deploy(world, replicas=4)
        await world.settle(20)

    assert in_world(body, 5) == in_world(body, 5)
    assert in_world(body, 5) != in_world(body, 6)
    assert in_world(body, 5, measured=True) == in_world(body, 5), "measuring changes nothing"


def test_a_process_that_comes_back_draws_anew_and_a_seed_draws_the_same() -> None:
    def drawn() -> list[str]:
        found: list[str] = []

        def build(link: Transport, around: ComponentContext) -> Manager:
            found.append(around.entropy.uid())
            return component_manager(link, "drawing", (), around)

        async def body(world: World) -> None:
            process = await world.start("drawing", build, ADMIN)
            for _ in range(2):
                await world.restart(process)

        in_world(body)
        return found

    first = drawn()
    assert len(set(first)) == 3
    assert drawn() == first
