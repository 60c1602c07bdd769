"""An autoscaler that chooses which pods are scaled down: the proposal's "HPA Downscaling example".

Numbers in comments are those of its list.
"""

from __future__ import annotations

import pytest

from support.simulated.autoscalers import AUTOSCALER_FIRST, autoscaled, highest_floor, is_restored, measured
from support.simulated.clusters import in_world
from support.simulated.deployments import (
    completed,
    moving,
    names,
    open_requests,
    pods,
    record,
    replicas,
    set_size,
)
from support.simulated.evictions import found, put_past_admission, turns
from support.simulated.workloads import made
from vacate.admission.pods.workloads import EVICTION_PRIORITY
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, PODS
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, REPLICASET_INTERCEPTOR
from vacate.eviction.registration import resolve
from vacate.kube.surge import MARKED
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

FIRST = {EVICTION_PRIORITY: "10050"}


def test_the_downscaling_example() -> None:
    async def body(world: World) -> None:
        await autoscaled(world, 3, metric="30", order=AUTOSCALER_FIRST, annotations=FIRST)  # 1, 2
        before = names(world)
        await measured(world, "10")
        await world.until(lambda: len(open_requests(world)) == 2)  # 3, 4
        requests = open_requests(world)
        chosen = {found(world, one)["spec"]["target"]["podRef"]["name"] for one in requests}
        assert all(
            [one["name"] for one in found(world, request)["spec"]["requesters"]] == [AUTOSCALER_INTERCEPTOR]
            for request in requests
        )
        await world.until(lambda: all_active(world, requests) == {AUTOSCALER_INTERCEPTOR})  # 5
        assert names(world) == before
        await world.until(lambda: replicas(world) == 1)  # 6
        assert (set_size(world), names(world)) == (3, before)
        await world.until(lambda: all_active(world, requests) == {DEPLOYMENT_INTERCEPTOR})  # 7, 8
        assert names(world) == before
        await world.until(lambda: set_size(world) == 1)  # 9
        await completed(world, *requests)  # 10, 11, 12
        await world.until(lambda: is_restored(world))
        assert names(world) == before - chosen
        assert (replicas(world), made(world, PODS), highest_floor(world)) == (1, 3, 1)
        for request in requests:
            assert turns(world, request) == [
                AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, REPLICASET_INTERCEPTOR,
            ]  # fmt: skip

    in_world(body)


def all_active(world: World, requests: list[str]) -> set[str]:
    return {str(found(world, one).get("status", {}).get("activeInterceptorName", "")) for one in requests}


def test_an_autoscaler_that_wants_the_pods_again_keeps_them() -> None:
    """The requests are withdrawn, and nothing is left of them."""

    async def body(world: World) -> None:
        await autoscaled(world, 3, metric="30", order=AUTOSCALER_FIRST, annotations=FIRST)
        before = names(world)
        await measured(world, "10")
        await world.until(lambda: len(open_requests(world)) == 2)
        await measured(world, "30")
        await world.until(lambda: not open_requests(world) and replicas(world) == 3)
        await world.until(lambda: is_restored(world))
        assert names(world) == before

    in_world(body)


def test_an_autoscaler_that_is_not_first_scales_down_at_once() -> None:
    async def body(world: World) -> None:
        await autoscaled(world, 3, metric="30")
        await measured(world, "10")
        await world.until(lambda: len(pods(world)) == 1)
        assert not world.objects(EVICTIONREQUESTS, "default")

    in_world(body)


@pytest.mark.parametrize("requester", [AUTOSCALER_INTERCEPTOR, "drain.example.com"])
def test_a_request_that_did_not_pass_admission_moves_nothing(requester: str) -> None:
    """Its author may have no right to delete the pod: it neither marks the pod for the next scale-down, nor
    raises anything, nor holds a scale-down back.
    """

    async def body(world: World) -> None:
        target, *_ = await moving(world, 3)
        meta = target["metadata"]
        past = {
            "apiVersion": EVICTIONREQUESTS.api_version,
            "kind": EVICTIONREQUESTS.kind,
            "metadata": {"name": meta["uid"], "namespace": "default", "uid": "forged"},
            "spec": {
                "target": {"podRef": {"name": meta["name"], "uid": meta["uid"]}},
                "requesters": [{"name": requester}],
                "interceptors": [{"name": name} for name in resolve(target).interceptors],
            },
            "status": {
                "activeInterceptorName": DEPLOYMENT_INTERCEPTOR,
                "heartbeatTime": meta["creationTimestamp"],
            },
        }
        await put_past_admission(world, past)
        await world.settle(60)
        (same,) = [one for one in pods(world) if one["metadata"]["uid"] == meta["uid"]]
        assert MARKED not in same["metadata"].get("annotations", {})
        assert (replicas(world), record(world)) == (3, "")
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2}}, "default")
        await world.until(lambda: len(names(world)) == 2)

    in_world(body)
