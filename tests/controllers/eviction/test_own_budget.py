"""Single replicas with a budget of their own: prepared, and past it by their owner's leave."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.clusters import Requests, in_world
from support.simulated.evictions import A, finish, request_eviction, running_pod, status
from support.simulated.maintenances import drain, phase
from support.simulated.statefulsets import is_whole, ready_statefulset
from support.simulated.workloads import condition_of, events_of
from vacate.api.kinds import EVICTIONREQUESTS, PODDISRUPTIONBUDGETS, PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.workloads import DELETE_PREPARED
from vacate.cache.reader import Reader
from vacate.cache.store import ObjectTable
from vacate.controllers.eviction.ownbudget import is_alone
from vacate.sim.cluster import World
from vacate.testing import pdb, statefulset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]


async def guarded_member(world: World, selector: dict[str, str] | None = None, **parts: Any) -> Obj:
    (pod,) = await ready_statefulset(world, 1, **parts)
    budget = pdb("db", min_available=1, selector=selector or {"app": "db"})
    await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
    return pod


async def allow(world: World) -> None:
    change = {"metadata": {"annotations": {DELETE_PREPARED: "true"}}}
    await world.client.patch(STATEFULSETS, "db", change, "default")


def test_a_prepared_single_replica_moves_once_its_owner_allows_it() -> None:
    async def body(world: World) -> None:
        pod = await guarded_member(world)
        await drain(world, pod["spec"]["nodeName"])
        await world.until(lambda: phase(world) == "Blocked")
        await world.sim.clock.sleep(60.0)
        requests = Requests(world)
        await world.sim.clock.sleep(1800.0)
        assert requests.count / 30 < 5
        assert [one["metadata"]["uid"] for one in world.objects(PODS, "default")] == [pod["metadata"]["uid"]]
        await allow(world)
        await world.until(lambda: phase(world) == "Drained", 15.0)
        await world.until(lambda: is_whole(world, 1))
        await world.until(lambda: bool(events_of(world, "db-0", "DeletedPastBudget")))

    in_world(body)


def test_what_the_owner_allowed_while_no_manager_worked_is_seen() -> None:
    async def body(world: World) -> None:
        pod = await guarded_member(world)
        await drain(world, pod["spec"]["nodeName"])
        await world.until(lambda: phase(world) == "Blocked")
        await world.sim.clock.sleep(3600.0)
        await world.evictions.crash()
        await allow(world)
        await world.evictions.start()
        await world.until(lambda: phase(world) == "Drained", 40.0)

    in_world(body)


async def stays(world: World, pod: Obj) -> None:
    await drain(world, pod["spec"]["nodeName"])
    await world.sim.clock.sleep(600.0)
    found = world.find(PODS, pod["metadata"]["name"], "default")
    assert found is not None
    assert found["metadata"]["uid"] == pod["metadata"]["uid"]
    assert "deletionTimestamp" not in found["metadata"]


def test_a_budget_that_protects_others_too_is_kept() -> None:
    async def body(world: World) -> None:
        await running_pod(world, "other", labels={"team": "shop"})
        labels = {"metadata": {"labels": {"team": "shop"}}}
        pod = await guarded_member(world, {"team": "shop"}, template=labels)
        await world.client.patch(PODDISRUPTIONBUDGETS, "db", {"spec": {"minAvailable": 2}}, "default")
        await allow(world)
        await stays(world, pod)

    in_world(body)


def test_the_annotation_of_a_pod_says_nothing() -> None:
    async def body(world: World) -> None:
        pod = await guarded_member(world)
        change = {"metadata": {"annotations": {DELETE_PREPARED: "true"}}}
        await world.client.patch(PODS, "db-0", change, "default")
        await stays(world, pod)

    in_world(body)


async def intercepted_member(world: World) -> tuple[Obj, str]:
    """A member that its owner lets go once it is prepared, in the turn of its interceptor; its request."""
    first = {"interceptor.evictionrequest.coordination.k8s.io/priority_a.example.com": "20000"}
    made = {"metadata": {"annotations": first}}
    allowed = {"annotations": {DELETE_PREPARED: "true"}}
    await world.client.create(
        STATEFULSETS, statefulset("db", replicas=1, template=made, metadata=allowed), "default"
    )
    await world.until(lambda: is_whole(world, 1))
    budget = pdb("db", min_available=1, selector={"app": "db"})
    await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
    (pod,) = world.objects(PODS, "default")
    uid = await request_eviction(world, pod)
    await world.until(lambda: status(world, uid).get("activeInterceptorName") == A)
    return pod, uid


def test_a_pod_that_an_interceptor_did_not_prepare_stays() -> None:
    async def body(world: World) -> None:
        _, uid = await intercepted_member(world)
        failed = {"type": f"{A}/Failed", "status": "True", "reason": "HandedOver", "message": "no disk"}
        failed["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        await world.client.patch(
            EVICTIONREQUESTS,
            uid,
            {"status": {"activeInterceptorCompleted": True, "conditions": [failed]}},
            "default",
            subresource="status",
        )
        await world.sim.clock.sleep(120.0)
        assert world.find(PODS, "db-0", "default") == world.objects(PODS, "default")[0]
        found = world.find(EVICTIONREQUESTS, uid, "default") or {}
        assert condition_of(found, "Progressing", "reason") == "Blocked"

    in_world(body)


def test_a_hook_that_completed_is_enough() -> None:
    async def body(world: World) -> None:
        pod, uid = await intercepted_member(world)
        await finish(world, uid)
        await world.until(
            lambda: (
                [one["metadata"]["uid"] for one in world.objects(PODS, "default")] != [pod["metadata"]["uid"]]
            ),
            60.0,
        )

    in_world(body)


def test_a_budget_that_is_not_known_yet_may_protect_others() -> None:
    pods: Reader[Pod] = Reader(ObjectTable({}))
    budgets: Reader[PodDisruptionBudget] = Reader(ObjectTable({}))
    assert not is_alone(Pod(), pods, budgets)
