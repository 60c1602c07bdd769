"""Pods that are chosen for the next scale-down by an autoscaler: the proposal's "HPA Downscaling example".

Numbers in comments are those of its list.
"""

from __future__ import annotations

import pytest

from support.simulated.autoscalers import AUTOSCALER_FIRST, autoscaled, highest_floor, is_restored, measured
from support.simulated.clusters import in_world
from support.simulated.deployments import (
    cancel,
    completed,
    is_over,
    moving,
    names,
    pods,
    record,
    replicas,
)
from support.simulated.evictions import found, put_past_admission, request_eviction
from support.simulated.workloads import made
from vacate.admission.pods.workloads import EVICTION_PRIORITY
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, PODS
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR
from vacate.eviction.registration import resolve
from vacate.kube.surge import MARKED
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

FIRST = {EVICTION_PRIORITY: "10050"}


def test_the_downscaling_example() -> None:
    """The pods are chosen by requests in the name of the autoscaler; its next scale-down removes them."""

    async def body(world: World) -> None:
        old = await autoscaled(world, 3, metric="30", order=AUTOSCALER_FIRST, annotations=FIRST)  # 1, 2
        before = names(world)
        requests = [await request_eviction(world, one, AUTOSCALER_INTERCEPTOR) for one in old[:2]]  # 3, 4
        await world.until(lambda: all_active(world, requests) == {AUTOSCALER_INTERCEPTOR})  # 5
        await world.settle(30)
        assert (names(world), replicas(world), highest_floor(world)) == (before, 3, 1)
        await measured(world, "10")  # 6
        await completed(world, *requests)
        await world.until(lambda: is_restored(world))
        assert names(world) == {old[2]["metadata"]["name"]}
        assert (replicas(world), made(world, PODS), highest_floor(world)) == (1, 3, 1)

    in_world(body)


def all_active(world: World, requests: list[str]) -> set[str]:
    return {str(found(world, one).get("status", {}).get("activeInterceptorName", "")) for one in requests}


def test_a_pod_that_was_chosen_and_is_wanted_again_stays() -> None:
    """The request is withdrawn, and nothing is left of it: another pod goes."""

    async def body(world: World) -> None:
        old = await autoscaled(world, 2, metric="20", order=AUTOSCALER_FIRST, annotations=FIRST)
        request = await request_eviction(world, old[0], AUTOSCALER_INTERCEPTOR)
        await world.until(lambda: all_active(world, [request]) == {AUTOSCALER_INTERCEPTOR})
        await cancel(world, request)
        await world.until(lambda: is_over(world, request) and is_restored(world))
        request = await request_eviction(world, old[1], AUTOSCALER_INTERCEPTOR)
        await world.until(lambda: all_active(world, [request]) == {AUTOSCALER_INTERCEPTOR})
        await measured(world, "10")
        await world.until(lambda: names(world) == {old[0]["metadata"]["name"]})

    in_world(body)


def test_an_autoscaler_requests_nothing_itself() -> None:
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
