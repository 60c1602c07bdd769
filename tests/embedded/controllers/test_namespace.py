"""Namespaces in a cluster: what they are given, and how they end."""

from __future__ import annotations

import pytest

from support.simulated.workloads import condition_of, created, in_world
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS, SERVICEACCOUNTS
from vacate.sim.cluster import World
from vacate.testing import deployment, namespace, pod

pytestmark = pytest.mark.sim


def test_every_namespace_has_a_default_service_account_and_gets_it_back() -> None:
    async def body(world: World) -> None:
        await world.client.create(NAMESPACES, namespace("new"))
        await world.until(lambda: world.find(SERVICEACCOUNTS, "default", "new"), timeout=5)
        first = created(world, SERVICEACCOUNTS, "default", "new")["metadata"]["uid"]
        await world.client.delete(SERVICEACCOUNTS, "default", "new")
        await world.until(lambda: world.find(SERVICEACCOUNTS, "default", "new"), timeout=5)
        assert created(world, SERVICEACCOUNTS, "default", "new")["metadata"]["uid"] != first

    in_world(body)


@pytest.mark.thorough
def test_a_namespace_ends_with_all_that_is_in_it_and_pods_get_their_grace() -> None:
    async def body(world: World) -> None:
        await world.client.create(NAMESPACES, namespace("old"))
        slow = {"metadata": {"annotations": {"sim.vacate.dev/stop-seconds": "20"}}}
        made = deployment("web", namespace="old")
        made["spec"]["template"]["metadata"] |= slow["metadata"]
        await world.client.create(DEPLOYMENTS, made, "old")
        await world.client.create(
            CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, "old"
        )
        await world.until(lambda: len(world.healthy_pods("old")) == 3)
        began = world.sim.clock.now()
        await world.client.delete(NAMESPACES, "old")
        await world.until(
            lambda: condition_of(created(world, NAMESPACES, "old", ""), "NamespaceContentRemaining") == "True"
        )
        message = condition_of(created(world, NAMESPACES, "old", ""), "NamespaceContentRemaining", "message")
        assert message == "Some resources are remaining: pods. has 3 resource instances"
        await world.until(lambda: world.find(NAMESPACES, "old") is None, timeout=120)
        assert (world.sim.clock.now() - began).total_seconds() >= 20
        for kind in (PODS, DEPLOYMENTS, CONFIGMAPS, SERVICEACCOUNTS):
            assert world.objects(kind, "old") == []

    in_world(body)


@pytest.mark.thorough
def test_a_finalizer_holds_the_namespace_until_someone_removes_it() -> None:
    async def body(world: World) -> None:
        await world.client.create(NAMESPACES, namespace("held"))
        held = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c", "finalizers": ["example.com/hold"]},
        }
        await world.client.create(CONFIGMAPS, held, "held")
        await world.client.delete(NAMESPACES, "held")
        await world.sim.clock.sleep(60)
        found = created(world, NAMESPACES, "held", "")
        assert found["status"]["phase"] == "Terminating"
        assert condition_of(found, "NamespaceFinalizersRemaining", "message") == (
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
        )
        await world.client.patch(CONFIGMAPS, "c", {"metadata": {"finalizers": None}}, "held")
        await world.until(lambda: world.find(NAMESPACES, "held") is None, timeout=10)

    in_world(body)


def test_an_empty_namespace_ends_at_once_and_pods_elsewhere_stay() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODS, pod("bystander"), "default")
        await world.client.create(NAMESPACES, namespace("empty"))
        await world.settle(5)
        await world.client.delete(NAMESPACES, "empty")
        await world.until(lambda: world.find(NAMESPACES, "empty") is None, timeout=5)
        assert world.find(PODS, "bystander", "default") is not None

    in_world(body)
