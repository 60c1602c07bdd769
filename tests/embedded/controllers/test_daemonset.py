"""Daemon sets in a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.workloads import created, history, in_world, made, writes
from vacate.api.kinds import CONTROLLERREVISIONS, DAEMONSETS, NODES, PODS
from vacate.api.objects import Obj
from vacate.sim.cluster import World
from vacate.testing import daemonset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]
NEW_IMAGE: Obj = {"spec": {"containers": [{"name": "main", "image": "registry.example/app:2"}]}}


async def everywhere(world: World, count: int, **parts: Any) -> None:
    await world.client.create(DAEMONSETS, daemonset("logs", **parts), "default")
    await settled(world, count)


async def settled(world: World, count: int) -> None:
    await world.until(lambda: _settled(world, count), what=f"pods on {count} nodes")


def _settled(world: World, count: int) -> bool:
    found = created(world, DAEMONSETS, "logs")
    status = found.get("status", {})
    numbers = {status.get(key, 0) for key in ("desiredNumberScheduled", "numberAvailable")}
    seen = status.get("observedGeneration", 0) >= found["metadata"]["generation"]
    return seen and numbers == {count} == {status.get("updatedNumberScheduled"), len(world.objects(PODS))}


def nodes(world: World) -> list[str]:
    return sorted(one["spec"].get("nodeName", "") for one in world.objects(PODS))


async def patch_node(world: World, name: str, change: Obj) -> None:
    await world.client.patch(NODES, name, change)


@pytest.mark.thorough
def test_one_pod_for_every_node_cordoned_ones_too() -> None:
    async def body(world: World) -> None:
        await patch_node(world, "node-2", {"spec": {"unschedulable": True}})
        await everywhere(world, 3)
        assert nodes(world) == ["node-1", "node-2", "node-3"]
        one = world.objects(PODS)[0]
        keys = {each["key"] for each in one["spec"]["tolerations"]}
        assert {"node.kubernetes.io/unschedulable", "node.kubernetes.io/unreachable"} <= keys
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        (term,) = one["spec"]["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"]
        assert term["matchFields"][0]["values"] == [one["spec"]["nodeName"]]
        await world.settle(10)
        before = writes(world)
        await world.sim.clock.sleep(900)
        assert writes(world) == before

    in_world(body, nodes=3)


def test_a_deleted_pod_returns_to_its_node_and_only_when_its_object_is_gone() -> None:
    async def body(world: World) -> None:
        await everywhere(world, 3)
        old = world.objects(PODS)[0]
        name, node = old["metadata"]["name"], old["spec"]["nodeName"]
        world.pool.isolate(node)
        await world.client.delete(PODS, name, "default")
        await world.sim.clock.sleep(600)
        assert made(world, PODS) == 3
        world.pool.rejoin(node)
        await world.until(lambda: made(world, PODS) == 4)
        await settled(world, 3)
        assert nodes(world) == ["node-1", "node-2", "node-3"]

    in_world(body, nodes=3)


def test_taints_labels_and_affinity_choose_the_nodes() -> None:
    async def body(world: World) -> None:
        await patch_node(world, "node-1", {"metadata": {"labels": {"disk": "ssd"}}})
        await patch_node(world, "node-2", {"metadata": {"labels": {"disk": "ssd"}}})
        await everywhere(world, 2, template={"spec": {"nodeSelector": {"disk": "ssd"}}})
        await patch_node(world, "node-3", {"metadata": {"labels": {"disk": "ssd"}}})
        await settled(world, 3)
        # A pod that runs stays on a node that takes no new ones; where nobody may stay it goes.
        taint = {"key": "example.com/mine", "effect": "NoSchedule"}
        await patch_node(world, "node-1", {"spec": {"taints": [taint]}})
        await world.until(lambda: created(world, DAEMONSETS, "logs")["status"]["numberMisscheduled"] == 1)
        assert nodes(world) == ["node-1", "node-2", "node-3"]
        await patch_node(world, "node-2", {"metadata": {"labels": {"disk": None}}})
        await world.until(lambda: nodes(world) == ["node-1", "node-3"])

    in_world(body, nodes=3)


def test_an_update_keeps_all_nodes_but_one_served() -> None:
    async def body(world: World) -> None:
        await everywhere(world, 4)
        await world.client.patch(DAEMONSETS, "logs", {"spec": {"template": NEW_IMAGE}}, "default")
        await settled(world, 4)
        images = {one["spec"]["containers"][0]["image"] for one in world.objects(PODS)}
        assert images == {"registry.example/app:2"}
        assert sorted(one["revision"] for one in world.objects(CONTROLLERREVISIONS)) == [1, 2]
        up: set[str] = set()
        began = False
        for gone, obj in history(world, PODS):
            uid, conditions = obj["metadata"]["uid"], obj.get("status", {}).get("conditions", [])
            ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
            serves = ready and not gone and not obj["metadata"].get("deletionTimestamp")
            up = up | {uid} if serves else up - {uid}
            began = began or len(up) == 4
            assert not began or len(up) >= 3

    in_world(body, nodes=4)


def test_on_delete_updates_nobody_who_was_not_deleted() -> None:
    async def body(world: World) -> None:
        await everywhere(world, 2, spec={"updateStrategy": {"type": "OnDelete"}})
        await world.client.patch(DAEMONSETS, "logs", {"spec": {"template": NEW_IMAGE}}, "default")
        await world.settle(60)
        assert made(world, PODS) == 2
        await world.client.delete(PODS, world.objects(PODS)[0]["metadata"]["name"], "default")
        await world.until(lambda: made(world, PODS) == 3)
        images = {one["spec"]["containers"][0]["image"] for one in world.objects(PODS)}
        assert images == {"registry.example/app:1", "registry.example/app:2"}

    in_world(body, nodes=2)


def test_a_node_that_leaves_takes_its_pod_along() -> None:
    async def body(world: World) -> None:
        await everywhere(world, 3)
        world.pool.isolate("node-3")
        await world.client.delete(NODES, "node-3")
        await world.until(lambda: nodes(world) == ["node-1", "node-2"], timeout=1200)

    in_world(body, nodes=3)
