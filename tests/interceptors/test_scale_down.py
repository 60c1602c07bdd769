"""Pods under request go first on any scale-down, also on one by the user before the ReplicaSet's turn."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.deployments import (
    cancel,
    completed,
    is_quiet,
    most,
    moving,
    names,
    one_with_its_own_interceptor,
    pods,
    replicas,
    requested,
)
from support.simulated.evictions import found
from support.simulated.workloads import created, history, running
from vacate.api.kinds import DEPLOYMENTS, PODS
from vacate.api.objects import Obj
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.surge import MARKED, REQUESTED_COST
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

OWN = "backup.example.com"


def cost(world: World, pod: Obj) -> str:
    annotations = created(world, PODS, pod["metadata"]["name"])["metadata"].get("annotations") or {}
    return str(annotations.get(DELETION_COST, ""))


async def scale(world: World, count: int) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": count}}, "default")


async def costs(world: World, pod: Obj, value: str | None) -> None:
    patch = {"metadata": {"annotations": {DELETION_COST: value}}}
    await world.client.patch(PODS, pod["metadata"]["name"], patch, "default")


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("number", range(3))
def test_a_scale_down_by_the_user_takes_the_pod_under_request(number: int) -> None:
    """In the turn of another interceptor, so that nothing was raised for it."""

    async def body(world: World) -> None:
        old = await one_with_its_own_interceptor(world, OWN, 3)
        (request,) = await requested(world, old[number])
        await world.until(lambda: cost(world, old[number]) == REQUESTED_COST)
        await world.until(lambda: found(world, request)["status"].get("activeInterceptorName") == OWN)
        await scale(world, 2)
        await completed(world, request)
        await world.until(lambda: is_quiet(world) and len(pods(world)) == 2)
        assert names(world) == {one["metadata"]["name"] for one in old} - {old[number]["metadata"]["name"]}
        assert (replicas(world), most(world)) == (2, 3)

    in_world(body)


@pytest.mark.thorough
def test_a_scale_down_during_the_surge_keeps_the_replacement() -> None:
    """The count returns to the user's, as an apply of the manifest would have it."""

    async def body(world: World) -> None:
        old = await moving(world, 2, spec={"minReadySeconds": 300})
        (request,) = await requested(world, old[0])
        await world.until(lambda: len(world.healthy_pods()) == 3)  # ready, and not available for long
        await scale(world, 2)
        await completed(world, request)
        await world.until(lambda: is_quiet(world) and len(pods(world)) == 2)
        assert old[0]["metadata"]["name"] not in names(world)
        assert old[1]["metadata"]["name"] in names(world)

    in_world(body)


@pytest.mark.thorough
def test_of_two_requests_the_cancelled_one_keeps_its_pod_and_the_users_cost() -> None:
    async def body(world: World) -> None:
        old = await one_with_its_own_interceptor(world, OWN, 3)
        await costs(world, old[0], "7")
        first, second = await requested(world, *old[:2])
        await world.until(lambda: all(cost(world, one) == REQUESTED_COST for one in old[:2]))
        await cancel(world, first)
        await world.until(lambda: cost(world, old[0]) == "7")
        assert (cost(world, old[1]), cost(world, old[2])) == (REQUESTED_COST, "")
        await scale(world, 2)
        await completed(world, second)
        await world.until(lambda: len(pods(world)) == 2)
        assert old[1]["metadata"]["name"] not in names(world)

    in_world(body)


@pytest.mark.thorough
def test_a_cost_that_the_user_sets_meanwhile_stays() -> None:
    async def body(world: World) -> None:
        old = await one_with_its_own_interceptor(world, OWN, 2)
        (request,) = await requested(world, old[0])
        await world.until(lambda: cost(world, old[0]) == REQUESTED_COST)
        await costs(world, old[0], "9")
        await world.settle()
        assert cost(world, old[0]) == "9"
        await cancel(world, request)
        await world.until(
            lambda: MARKED not in created(world, PODS, old[0]["metadata"]["name"])["metadata"]["annotations"]
        )
        assert cost(world, old[0]) == "9"

    in_world(body)


def test_cancelling_one_of_two_removes_one_pod_of_the_surge() -> None:
    """Not the pod that is still under request, though it goes first on a scale-down by others."""

    async def body(world: World) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}
        old = await moving(world, 3, spec={"strategy": strategy, "minReadySeconds": 300})
        first, _ = await requested(world, *old[:2])
        await world.until(lambda: len(world.healthy_pods()) == 5)
        await cancel(world, first)
        await world.until(lambda: replicas(world) == 4 and len(pods(world)) == 4)
        assert {one["metadata"]["name"] for one in old} < names(world)
        assert cost(world, old[1]) == REQUESTED_COST

    in_world(body)


def test_pods_of_others_are_not_marked() -> None:
    async def body(world: World) -> None:
        await running(world, "web", 2)
        old = pods(world)[0]
        await requested(world, old)
        await world.until(lambda: old["metadata"]["name"] not in names(world))
        versions = [obj["metadata"] for _, obj in history(world, PODS)]
        assert not [one for one in versions if MARKED in (one.get("annotations") or {})]

    in_world(body)
