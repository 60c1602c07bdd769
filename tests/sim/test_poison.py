"""The poison test: a namespace full of bad objects, while the rest of the cluster is drained on time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from support.hostile.poison import bad_statuses, store_status
from support.simulated.clusters import in_world
from support.simulated.evictions import DRAIN, request_eviction, running_pod
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, NAMESPACES, NODES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.types import Pod
from vacate.sdk.requesters.requests import new_request
from vacate.sim.cluster import World
from vacate.testing import deployment, namespace, pod

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

POISON = "poison"
ON_TIME = 60.0
"""Seconds of virtual time that a drain without poison takes less than."""


async def poisoned(world: World, statuses: list[Any]) -> None:
    """A request for each status, whose interceptor never answers; then the status, past admission."""
    await world.client.create(NAMESPACES, namespace(POISON))
    for number, status in enumerate(statuses):
        spec = {"nodeSelector": {"no": "node"}, "evictionInterceptors": [{"name": "silent.example.com"}]}
        target = await world.client.create(PODS, pod(f"p{number}", namespace=POISON, spec=spec), POISON)
        stored = await world.client.create(EVICTIONREQUESTS, new_request(typed(target), DRAIN), POISON)
        await store_status(world.server.store, EVICTIONREQUESTS, stored, status)


def typed(obj: Obj) -> Pod:
    return msgspec.convert(obj, Pod)


async def drained(world: World, node: str) -> None:
    await world.client.patch(NODES, node, {"spec": {"unschedulable": True}})
    leaving = [one for one in world.healthy_pods() if dig(one, "spec", "nodeName") == node]
    assert leaving
    for one in leaving:
        await request_eviction(world, one)
    uids = [one["metadata"]["uid"] for one in leaving]
    await world.until(lambda: not _there(world, uids), ON_TIME, f"{node} is drained")
    await world.until(lambda: all(_complete(world, uid) for uid in uids), ON_TIME, "requests are complete")


def _there(world: World, uids: list[str]) -> list[Obj]:
    return [one for one in world.objects(PODS, "default") if one["metadata"]["uid"] in uids]


def _complete(world: World, name: str) -> bool:
    found = world.find(EVICTIONREQUESTS, name, "default")
    conditions = dig(found or {}, "status", "conditions") or []
    return found is None or any(one["type"] == "Complete" for one in conditions)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("restarted", [False, True], ids=["watched", "listed"])
def test_the_rest_of_the_cluster_is_drained_on_time(restarted: bool) -> None:
    async def body(world: World) -> None:
        await world.client.create(DEPLOYMENTS, deployment("web", replicas=6), "default")
        await world.until(lambda: len(world.healthy_pods()) == 6, what="all replicas are ready")
        await poisoned(world, bad_statuses())
        if restarted:
            for process in (world.evictions, world.controllers, world.nodes):
                await world.restart(process)
        await drained(world, "node-1")

    in_world(body)


def test_a_poisoned_request_recovers_when_its_status_is_put_right() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=["silent.example.com"])
        name = await request_eviction(world, target)
        await world.until(lambda: _active(world, name), what="the interceptor is active")
        before = world.find(EVICTIONREQUESTS, name, "default")
        assert before is not None
        bad = {**before["status"], "expectedInterceptorFinishTime": "9999-12-31T23:59:59.9999999Z"}
        await store_status(world.server.store, EVICTIONREQUESTS, before, bad)
        await world.settle()
        change = {"status": {"activeInterceptorCompleted": True, "expectedInterceptorFinishTime": None}}
        await world.client.patch(EVICTIONREQUESTS, name, change, "default", subresource="status")
        await world.until(lambda: _complete(world, name), ON_TIME, "the request is complete")

    in_world(body)


def _active(world: World, name: str) -> object:
    return dig(world.find(EVICTIONREQUESTS, name, "default") or {}, "status", "activeInterceptorName")
