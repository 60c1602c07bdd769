"""Vacate's own interceptors in lifecycle.k8s.io: workloads that move before their pods are evicted."""

from __future__ import annotations

import pytest

from support.simulated.autoscalers import autoscaled, floor, highest_floor, is_restored
from support.simulated.clusters import in_world
from support.simulated.deployments import fewest, moving, names, replicas
from support.simulated.statefulsets import fewest as fewest_members
from support.simulated.statefulsets import gone, is_whole, ready_statefulset
from support.simulated.workloads import condition_of, events_of
from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.api.types.lifecycle import EVICTOR
from vacate.client.codec import codec_for
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

GATES = parse_feature_gates("LifecycleAPI=true")
DEPLOYMENT, AUTOSCALER = "vacate.dev/deployment", "vacate.dev/horizontalpodautoscaler"
REPLICASET, STATEFULSET = "vacate.dev/replicaset", "vacate.dev/statefulset"


async def request(world: World, *pods: Obj) -> None:
    for pod in pods:
        made = LIFECYCLE.new_request(codec_for(Pod).convert(pod), "acme.io/drain", "", None)
        del made["metadata"]["ownerReferences"]  # so that it is not collected with the pod
        await world.client.create(LIFECYCLE_REQUESTS, made, "default")


def eviction(world: World, pod: Obj) -> Obj:
    return world.find(LIFECYCLE_EVICTIONS, f"pod-1-{pod['metadata']['name']}", "default") or {}


def states(world: World, pod: Obj) -> list[tuple[str, str]]:
    listed = eviction(world, pod).get("status", {}).get("targetResponders", [])
    return [(one["name"], one["state"]) for one in listed]


async def evicted(world: World, *pods: Obj) -> None:
    await world.until(
        lambda: all(condition_of(eviction(world, pod), "TargetEvicted") == "True" for pod in pods), 7200.0
    )


def test_a_single_replica_is_replaced_before_it_goes() -> None:
    async def body(world: World) -> None:
        (old,) = await moving(world, 1)
        assert [(one["name"], one["priority"]) for one in old["spec"]["evictionResponders"]] == [
            (DEPLOYMENT, 10_000),
            (AUTOSCALER, 9_950),
            (REPLICASET, 9_900),
        ]
        await request(world, old)
        await evicted(world, old)
        await world.until(lambda: replicas(world) == 1)
        assert old["metadata"]["name"] not in names(world)
        assert fewest(world, 1) == 1
        assert states(world, old)[:2] == [(DEPLOYMENT, "Completed"), (AUTOSCALER, "Completed")]
        # Scaling back has removed it.
        assert states(world, old)[2:] == [(REPLICASET, "Interrupted"), (EVICTOR, "Inactive")]
        assert "deployment.apps.k8s.io" not in str(events_of(world, old["metadata"]["name"]))

    in_world(body, gates=GATES)


def test_an_autoscaler_makes_the_replacement() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world)
        await request(world, old)
        await evicted(world, old)
        await world.until(lambda: is_restored(world) and replicas(world) == 1)
        assert old["metadata"]["name"] not in names(world)
        assert (floor(world), highest_floor(world), fewest(world, 1)) == (1, 2, 1)

    in_world(body, gates=GATES)


def test_members_of_a_statefulset_go_one_by_one() -> None:
    async def body(world: World) -> None:
        old = await ready_statefulset(world, 3)
        assert [one["name"] for one in old[0]["spec"]["evictionResponders"]] == [STATEFULSET]
        await request(world, *old)
        await evicted(world, *old)
        await world.until(lambda: is_whole(world, 3))
        assert gone(world) == ["db-2", "db-1", "db-0"]
        assert fewest_members(world, 3) == 2

    in_world(body, gates=GATES)
