"""Forbid never holds up a namespace."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import in_eviction_cluster
from support.simulated.workloads import created
from vacate.api.kinds import EVICTIONREQUESTS, NAMESPACES, PODS
from vacate.sim.cluster import World
from vacate.testing import namespace, pod

pytestmark = pytest.mark.sim


async def a_forbidden_cancellation(world: World) -> None:
    await world.client.create(NAMESPACES, namespace("old"))
    made = pod("p", namespace="old")
    made["spec"]["evictionInterceptors"] = [{"name": "a.example.com"}]
    await world.client.create(PODS, made, "old")
    uid = created(world, PODS, "p", "old")["metadata"]["uid"]
    request = {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        "metadata": {"name": uid},
        "spec": {
            "target": {"podRef": {"name": "p", "uid": uid}},
            "requesters": [{"name": "drain.example.com"}],
        },
    }
    await world.client.create(EVICTIONREQUESTS, request, "old")
    forbid = {"status": {"evictionRequestCancellationPolicy": "Forbid"}}
    await world.client.patch(EVICTIONREQUESTS, uid, forbid, "old", subresource="status")


async def delete_the_namespace(world: World) -> None:
    await a_forbidden_cancellation(world)
    await world.client.delete(NAMESPACES, "old")
    await world.until(lambda: world.find(NAMESPACES, "old") is None)


def test_a_namespace_with_forbidden_cancellations_can_be_deleted() -> None:
    in_eviction_cluster(delete_the_namespace)


def test_also_while_no_controller_attends_to_requests() -> None:
    in_world(delete_the_namespace, evictions=())
