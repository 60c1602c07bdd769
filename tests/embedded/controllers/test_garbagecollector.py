"""Garbage collection in a cluster: cascades, orphans, circles, absent owners."""

from __future__ import annotations

import pytest

from support.simulated.workloads import created, in_world, running
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, LEASES, NODES, PODS, REPLICASETS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]


def configmap(name: str, *owners: Obj, block: bool = False) -> Obj:
    refs = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": one["metadata"]["name"],
            "uid": one["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for one in owners
    ]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": refs}}


def names(world: World) -> list[str]:
    return [one["metadata"]["name"] for one in world.objects(CONFIGMAPS, "default")]


def test_a_deployment_takes_its_replica_sets_and_pods_along() -> None:
    async def body(world: World) -> None:
        await running(world)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.until(lambda: not world.objects(REPLICASETS) and not world.objects(PODS), timeout=60)

    in_world(body)


@pytest.mark.thorough
def test_in_the_foreground_the_owner_goes_last() -> None:
    async def body(world: World) -> None:
        await running(world)
        await world.client.delete(
            DEPLOYMENTS, "web", "default", DeleteOptions(propagation_policy="Foreground")
        )
        assert created(world, DEPLOYMENTS, "web")["metadata"]["finalizers"] == ["foregroundDeletion"]
        await world.until(lambda: world.find(DEPLOYMENTS, "web", "default") is None, timeout=60)
        assert not world.objects(REPLICASETS)
        assert not world.objects(PODS)

    in_world(body)


@pytest.mark.thorough
def test_orphans_live_on_without_their_owner() -> None:
    async def body(world: World) -> None:
        await running(world)
        (before,) = world.objects(REPLICASETS)
        await world.client.delete(DEPLOYMENTS, "web", "default", DeleteOptions(propagation_policy="Orphan"))
        await world.until(lambda: world.find(DEPLOYMENTS, "web", "default") is None, timeout=60)
        await world.settle(10)
        (after,) = world.objects(REPLICASETS)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert not after["metadata"].get("ownerReferences")
        assert len(world.healthy_pods()) == 3

    in_world(body)


def test_an_object_of_two_owners_stays_with_the_second() -> None:
    async def body(world: World) -> None:
        one = await world.client.create(CONFIGMAPS, configmap("one"), "default")
        two = await world.client.create(CONFIGMAPS, configmap("two"), "default")
        await world.client.create(CONFIGMAPS, configmap("child", one, two), "default")
        await world.client.delete(CONFIGMAPS, "one", "default")
        await world.until(
            lambda: len(created(world, CONFIGMAPS, "child")["metadata"]["ownerReferences"]) == 1
        )
        await world.client.delete(CONFIGMAPS, "two", "default")
        await world.until(lambda: "child" not in names(world), timeout=10)

    in_world(body)


def test_an_owner_that_never_was_is_absent_and_a_namesake_is_not_the_owner() -> None:
    async def body(world: World) -> None:
        ghost = {"metadata": {"name": "ghost", "uid": "00000000-0000-4000-8000-000000000000"}}
        await world.client.create(CONFIGMAPS, configmap("child", ghost), "default")
        await world.until(lambda: "child" not in names(world), timeout=10)
        real = await world.client.create(CONFIGMAPS, configmap("ghost"), "default")
        await world.client.create(CONFIGMAPS, configmap("kept", real), "default")
        await world.client.create(CONFIGMAPS, configmap("lost", ghost), "default")
        await world.until(lambda: "lost" not in names(world), timeout=10)
        assert "kept" in names(world)

    in_world(body)


def test_an_owner_in_another_namespace_counts_as_absent() -> None:
    async def body(world: World) -> None:
        other = await world.client.create(CONFIGMAPS, configmap("owner"), "kube-system")
        await world.client.create(CONFIGMAPS, configmap("child", other), "default")
        await world.until(lambda: "child" not in names(world), timeout=10)
        assert world.find(CONFIGMAPS, "owner", "kube-system") is not None

    in_world(body)


def test_an_owner_of_a_kind_that_nobody_knows_keeps_its_own() -> None:
    async def body(world: World) -> None:
        child = configmap("child")
        child["metadata"]["ownerReferences"] = [
            {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "u"}
        ]
        await world.client.create(CONFIGMAPS, child, "default")
        await world.sim.clock.sleep(600)
        assert "child" in names(world)

    in_world(body)


def test_a_circle_deleted_in_the_foreground_comes_to_an_end() -> None:
    async def body(world: World) -> None:
        one = await world.client.create(CONFIGMAPS, configmap("one"), "default")
        two = await world.client.create(CONFIGMAPS, configmap("two", one, block=True), "default")
        refs = configmap("one", two, block=True)["metadata"]["ownerReferences"]
        await world.client.patch(CONFIGMAPS, "one", {"metadata": {"ownerReferences": refs}}, "default")
        await world.settle(5)
        await world.client.delete(
            CONFIGMAPS, "one", "default", DeleteOptions(propagation_policy="Foreground")
        )
        await world.until(lambda: not {"one", "two"} & set(names(world)), timeout=30)

    in_world(body)


def test_the_lease_of_a_node_goes_with_the_node() -> None:
    async def body(world: World) -> None:
        world.pool.stop("node-1")
        await world.client.delete(NODES, "node-1")
        await world.sim.clock.sleep(5)
        assert [one["metadata"]["name"] for one in world.objects(LEASES, "kube-node-lease")] == [
            "node-2",
            "node-3",
        ]

    in_world(body)


def test_a_collector_that_restarts_finds_what_was_left() -> None:
    async def body(world: World) -> None:
        await running(world)
        await world.controllers.crash()
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.controllers.start()
        await world.until(lambda: not world.objects(REPLICASETS) and not world.objects(PODS), timeout=60)

    in_world(body)
