"""Replica sets in a cluster."""

from __future__ import annotations

import pytest

from support.simulated.workloads import condition_of, created, events_of, in_world, made, writes
from vacate.api.kinds import PODS, REPLICASETS
from vacate.api.objects import Obj
from vacate.sim.cluster import World
from vacate.testing import pod, replicaset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

COST = "controller.kubernetes.io/pod-deletion-cost"


async def replicas(world: World, count: int) -> None:
    await world.client.create(REPLICASETS, replicaset("web", replicas=count), "default")
    await world.until(lambda: status(world).get("availableReplicas") == count)


def status(world: World) -> Obj:
    found: Obj = created(world, REPLICASETS, "web").get("status", {})
    return found


async def scale(world: World, count: int) -> None:
    await world.client.patch(
        REPLICASETS, "web", {"spec": {"replicas": count}}, "default", subresource="scale"
    )
    await world.until(lambda: len(world.objects(PODS)) == count == status(world).get("replicas", 0))


def test_there_are_never_more_pods_than_wanted_and_at_rest_nothing_is_written() -> None:
    async def body(world: World) -> None:
        await replicas(world, 25)
        await world.settle(10)
        assert len(world.objects(PODS)) == 25
        assert made(world, PODS) == 25
        before = writes(world)
        await world.sim.clock.sleep(900)
        assert writes(world) == before

    in_world(body)


def test_a_deleted_pod_is_replaced_while_it_still_terminates() -> None:
    async def body(world: World) -> None:
        await replicas(world, 3)
        victim = world.objects(PODS)[0]["metadata"]["name"]
        await world.client.delete(PODS, victim, "default")
        await world.until(lambda: len(world.objects(PODS)) == 4)
        await world.until(lambda: status(world).get("terminatingReplicas") == 1)
        await world.until(lambda: len(world.healthy_pods()) == 3 == len(world.objects(PODS)))

    in_world(body)


def test_scaling_down_minds_the_cost_of_deletion() -> None:
    async def body(world: World) -> None:
        await replicas(world, 4)
        names = [one["metadata"]["name"] for one in world.objects(PODS)]
        for name, cost in zip(names, ("10", "-5", "3", "7"), strict=True):
            await world.client.patch(PODS, name, {"metadata": {"annotations": {COST: cost}}}, "default")
        await world.settle(5)
        await scale(world, 2)
        assert [one["metadata"]["name"] for one in world.objects(PODS)] == [names[0], names[3]]
        await world.settle(5)
        deleted = sorted(events_of(world, "web", "SuccessfulDelete"))
        assert deleted == sorted(f"Deleted pod: {name}" for name in (names[1], names[2]))

    in_world(body)


def test_orphans_are_adopted_and_strays_released() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODS, pod("orphan", labels={"app": "web"}), "default")
        await replicas(world, 2)
        assert len(world.objects(PODS)) == 2
        (owner,) = created(world, PODS, "orphan")["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("ReplicaSet", "web", True)
        await world.client.patch(PODS, "orphan", {"metadata": {"labels": {"app": "other"}}}, "default")
        await world.until(lambda: len(world.objects(PODS)) == 3)
        await world.until(lambda: not created(world, PODS, "orphan")["metadata"].get("ownerReferences"))

    in_world(body)


def test_pods_that_are_refused_are_reported_in_a_condition() -> None:
    async def body(world: World) -> None:
        broken = replicaset("web", replicas=2)
        broken["spec"]["template"]["spec"]["priorityClassName"] = "no-such-class"
        await world.client.create(REPLICASETS, broken, "default")
        await world.until(
            lambda: condition_of(created(world, REPLICASETS, "web"), "ReplicaFailure") == "True"
        )
        found = created(world, REPLICASETS, "web")
        assert condition_of(found, "ReplicaFailure", "reason") == "FailedCreate"
        assert "no-such-class" in condition_of(found, "ReplicaFailure", "message")
        await world.sim.clock.sleep(30)
        assert world.objects(PODS) == []

    in_world(body)


def test_minimum_ready_seconds_delay_availability_and_nothing_else() -> None:
    async def body(world: World) -> None:
        patient = replicaset("web", replicas=2)
        patient["spec"]["minReadySeconds"] = 100
        await world.client.create(REPLICASETS, patient, "default")
        await world.until(lambda: status(world).get("readyReplicas") == 2)
        ready = world.sim.clock.now()
        assert status(world).get("availableReplicas", 0) == 0
        await world.until(lambda: status(world).get("availableReplicas") == 2, timeout=120)
        waited = (world.sim.clock.now() - ready).total_seconds()
        assert 98 <= waited <= 102

    in_world(body)


def test_controllers_that_crash_in_the_middle_make_no_pod_too_many() -> None:
    async def body(world: World) -> None:
        await world.client.create(REPLICASETS, replicaset("web", replicas=40), "default")
        for _ in range(4):
            await world.sim.clock.sleep(0.02)
            await world.restart(world.controllers, 0.05)
        await world.until(lambda: len(world.healthy_pods()) == 40)
        await world.settle(10)
        assert len(world.objects(PODS)) == 40

    in_world(body)
