"""Deployments with an autoscaler that move before they are evicted, in virtual time."""

from __future__ import annotations

import pytest

from support.simulated.autoscalers import (
    AUTOSCALER_FIRST,
    autoscaled,
    floor,
    highest_floor,
    is_restored,
    measured,
    patch_autoscaler,
)
from support.simulated.clusters import in_world
from support.simulated.deployments import completed, fewest, most, names, pods, replicas, requested
from support.simulated.evictions import found, turns
from support.simulated.workloads import condition_of, created, events_of, made, writes
from vacate.admission.pods.workloads import EVICTION_PRIORITY
from vacate.api.kinds import DEPLOYMENTS, EVACUATIONS, EVICTIONREQUESTS, HORIZONTALPODAUTOSCALERS, PODS
from vacate.api.types import Pod
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, REPLICASET_INTERCEPTOR
from vacate.client.codec import codec_for
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.registration import resolve
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World
from vacate.testing import horizontalpodautoscaler

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]


def declined(world: World, request: str, interceptor: str) -> str:
    return condition_of(found(world, request), f"{interceptor}/Declined", "message")


@pytest.mark.thorough
@pytest.mark.parametrize("metric", [None, "5"], ids=["without-metrics", "with-a-metric-that-wants-one"])
def test_a_single_replica_is_replaced_through_the_floor(metric: str | None) -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world, metric=metric)
        (request,) = await requested(world, old)
        await completed(world, request)
        await world.until(lambda: is_restored(world) and replicas(world) == 1)
        assert old["metadata"]["name"] not in names(world)
        assert (floor(world), highest_floor(world), most(world)) == (1, 2, 2)
        assert fewest(world, 1) == 1
        assert made(world, PODS) == 2
        assert turns(world, request) == [
            DEPLOYMENT_INTERCEPTOR, AUTOSCALER_INTERCEPTOR, REPLICASET_INTERCEPTOR,
        ]  # fmt: skip
        assert f"left to {AUTOSCALER_INTERCEPTOR}" in declined(world, request, DEPLOYMENT_INTERCEPTOR)

    in_world(body)


def test_an_evacuation_goes_through_the_floor_as_well() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world)
        evacuation = EVACUATION.new_request(codec_for(Pod).convert(old), "drain.example.com", "", None)
        await world.client.create(EVACUATIONS, evacuation, "default")
        name = evacuation["metadata"]["name"]
        await world.until(lambda: world.find(EVACUATIONS, name, "default") is None, 7200.0)
        await world.until(lambda: is_restored(world) and replicas(world) == 1)
        assert old["metadata"]["name"] not in names(world)
        assert (floor(world), highest_floor(world), fewest(world, 1), made(world, PODS)) == (1, 2, 1, 2)

    in_world(body, gates=parse_feature_gates("EvacuationAPI=true"))


@pytest.mark.thorough
def test_the_floor_never_exceeds_the_ceiling() -> None:
    """Three pods, room for one more: one after the other."""

    async def body(world: World) -> None:
        old = await autoscaled(world, 3, most=4)
        requests = await requested(world, *old)
        await completed(world, *requests)
        await world.until(lambda: is_restored(world) and replicas(world) == 3)
        assert (floor(world), highest_floor(world), most(world)) == (1, 4, 4)
        assert fewest(world, 3) == 3
        assert not {one["metadata"]["name"] for one in old} & names(world)

    in_world(body)


def test_at_the_ceiling_it_declines_and_says_what_to_do() -> None:
    async def body(world: World) -> None:
        (old, *_) = await autoscaled(world, 2, most=2)
        (request,) = await requested(world, old)
        await world.until(lambda: declined(world, request, AUTOSCALER_INTERCEPTOR) != "")
        assert "raise spec.maxReplicas by at least 1" in declined(world, request, AUTOSCALER_INTERCEPTOR)
        await completed(world, request)
        await world.until(lambda: is_restored(world))
        assert (floor(world), highest_floor(world), replicas(world)) == (1, 1, 2)

    in_world(body)


def test_a_cancelled_request_restores_floor_and_count() -> None:
    async def body(world: World) -> None:
        old = await autoscaled(world, 2)
        before = names(world)
        (request,) = await requested(world, old[0])
        await world.until(lambda: len(pods(world)) == 3)
        await world.client.delete(EVICTIONREQUESTS, request, "default")
        await world.until(lambda: is_restored(world) and replicas(world) == 2)
        assert (floor(world), names(world)) == (1, before)

    in_world(body)


def test_a_floor_that_the_user_sets_meanwhile_stays() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world, 1)
        await requested(world, old)
        await world.until(lambda: replicas(world) == 2)
        await patch_autoscaler(world, {"spec": {"minReplicas": 3}})
        await world.until(lambda: is_restored(world) and replicas(world) == 3)
        assert floor(world) == 3

    in_world(body)


def test_when_metrics_want_more_meanwhile_the_count_is_theirs() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world, 1, metric="5")
        (request,) = await requested(world, old)
        await world.until(lambda: floor(world) == 2)
        await measured(world, "35")
        await completed(world, request)
        await world.until(lambda: is_restored(world) and replicas(world) == 4)
        assert floor(world) == 1
        assert fewest(world, 1) == 1

    in_world(body)


def test_an_autoscaler_that_is_deleted_meanwhile_leaves_no_pod_too_many() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world, 1)
        (request,) = await requested(world, old)
        await world.until(lambda: replicas(world) == 2)
        await world.client.delete(HORIZONTALPODAUTOSCALERS, "web", "default")
        await completed(world, request)
        await world.until(lambda: is_restored(world) and replicas(world) == 1)

    in_world(body)


def test_the_user_may_put_the_autoscaler_first() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world, order=AUTOSCALER_FIRST, annotations={EVICTION_PRIORITY: "10050"})
        (request,) = await requested(world, old)
        await completed(world, request)
        await world.until(lambda: is_restored(world) and replicas(world) == 1)
        assert turns(world, request) == [
            AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, REPLICASET_INTERCEPTOR,
        ]  # fmt: skip
        assert declined(world, request, DEPLOYMENT_INTERCEPTOR) == ""
        assert fewest(world, 1) == 1

    in_world(body)


@pytest.mark.parametrize("priority", ["9900", "10000", "first", "10101", "²"])
def test_an_order_that_cannot_work_is_refused_with_a_message(priority: str) -> None:
    async def body(world: World) -> None:
        await autoscaled(world, annotations={EVICTION_PRIORITY: priority})
        await world.until(lambda: events_of(world, "web", "EvictionPriorityRefused") != [])
        (message,) = events_of(world, "web", "EvictionPriorityRefused")
        assert repr(priority) in message
        assert "from 9901 to 10100" in message

    in_world(body)


def test_pods_follow_an_autoscaler_that_comes_and_goes() -> None:
    async def body(world: World) -> None:
        (pod,) = await autoscaled(world)
        await world.client.delete(HORIZONTALPODAUTOSCALERS, "web", "default")
        without = (REPLICASET_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR)
        name = pod["metadata"]["name"]
        await world.until(lambda: resolve(created(world, PODS, name)).interceptors == without)
        await world.client.create(HORIZONTALPODAUTOSCALERS, horizontalpodautoscaler(), "default")
        await world.until(lambda: len(resolve(created(world, PODS, name)).interceptors) == 3)
        opted_out = {"metadata": {"annotations": {"vacate.dev/move-before-eviction": "false"}}}
        await world.client.patch(DEPLOYMENTS, "web", opted_out, "default")
        await world.until(lambda: resolve(created(world, PODS, name)).interceptors == ())

    in_world(body)


def test_two_autoscalers_of_one_deployment_are_left_alone() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world)
        other = horizontalpodautoscaler("other", target="web")
        await world.client.create(HORIZONTALPODAUTOSCALERS, other, "default")
        (request,) = await requested(world, old)
        await world.until(lambda: declined(world, request, AUTOSCALER_INTERCEPTOR) != "")
        assert "remove all but one" in declined(world, request, AUTOSCALER_INTERCEPTOR)
        await completed(world, request)
        assert highest_floor(world) == 1

    in_world(body)


def test_an_autoscaler_that_is_managed_by_another_object_is_left_alone() -> None:
    """KEDA writes the floor of its autoscaler from a ScaledObject, and would set it back."""

    async def body(world: World) -> None:
        (old,) = await autoscaled(world)
        owner = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": "u"}
        change = {"metadata": {"ownerReferences": [{**owner, "controller": True}]}}
        await patch_autoscaler(world, change)
        (request,) = await requested(world, old)
        await world.until(lambda: declined(world, request, AUTOSCALER_INTERCEPTOR) != "")
        assert "ScaledObject web manages it" in declined(world, request, AUTOSCALER_INTERCEPTOR)

    in_world(body)


def test_with_the_gate_closed_no_pod_is_registered() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world, order=(REPLICASET_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR))
        (request,) = await requested(world, old)
        await completed(world, request)
        await world.until(lambda: is_restored(world) and replicas(world) == 1)
        assert fewest(world, 1) == 1

    in_world(body, gates=parse_feature_gates("HorizontalPodAutoscalerInterceptor=false"))


def test_a_surge_costs_few_writes() -> None:
    """Also while requests are open: what the Deployment says of them is copied to its ReplicaSet, once."""

    async def body(world: World) -> None:
        old = await autoscaled(world, 3, most=4)
        await world.settle()
        before = writes(world)
        await completed(world, *await requested(world, *old))
        await world.until(lambda: is_restored(world))
        assert writes(world) - before < 100 * len(old)

    in_world(body)
