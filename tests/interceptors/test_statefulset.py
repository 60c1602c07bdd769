"""Stateful sets whose members are evicted in order, on the embedded cluster in virtual time."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.deployments import completed, requested
from support.simulated.evictions import status, turns
from support.simulated.maintenances import drain, on_node, phase
from support.simulated.statefulsets import fewest, gone, is_whole, members, ready_statefulset
from support.simulated.workloads import history
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, PODDISRUPTIONBUDGETS
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.features import parse_feature_gates
from vacate.kube.statefulsets import MAX_UNAVAILABLE
from vacate.sim.cluster import World
from vacate.testing import pdb

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

DECLINED = "statefulset.apps.k8s.io/Declined"


@pytest.mark.thorough
def test_members_go_one_by_one_from_the_highest_ordinal_down() -> None:
    async def body(world: World) -> None:
        old = await ready_statefulset(world, 4)
        requests = await requested(world, *old)
        await completed(world, *requests)
        await world.until(lambda: is_whole(world, 4))
        assert gone(world) == ["db-3", "db-2", "db-1", "db-0"]
        assert fewest(world, 4) == 3
        assert turns(world, requests[0]) == ["statefulset.apps.k8s.io"]

    in_world(body)


@pytest.mark.thorough
def test_members_of_both_apis_stand_in_one_queue() -> None:
    """The same evacuator, statefulset.apps.k8s.io: whichever member is requested, one is down at a time."""

    async def body(world: World) -> None:
        old = await ready_statefulset(world, 4)
        requests = await requested(world, *old[::2])
        for pod in old[1::2]:
            made = EVACUATION.new_request(codec_for(Pod).convert(pod), "drain.example.com", "", None)
            await world.client.create(EVACUATIONS, made, "default")
        await completed(world, *requests)
        await world.until(lambda: not world.objects(EVACUATIONS), 7200.0)
        await world.until(lambda: is_whole(world, 4))
        assert gone(world) == ["db-3", "db-2", "db-1", "db-0"]
        assert fewest(world, 4) == 3
        stages = [one for removed, one in history(world, EVACUATIONS) if not removed]
        declined = {each["type"] for one in stages for each in one["status"].get("conditions", [])}
        assert DECLINED not in declined

    in_world(body, gates=parse_feature_gates("EvacuationAPI=true"))


@pytest.mark.thorough
def test_an_annotation_allows_more_at_once() -> None:
    async def body(world: World) -> None:
        notes = {MAX_UNAVAILABLE: "50%"}
        parallel = {"podManagementPolicy": "Parallel"}
        old = await ready_statefulset(world, 4, metadata={"annotations": notes}, spec=parallel)
        await completed(world, *await requested(world, *old))
        await world.until(lambda: is_whole(world, 4))
        assert set(gone(world)[:2]) == {"db-3", "db-2"}
        assert fewest(world, 4) == 2

    in_world(body)


def test_a_budget_is_respected_all_the_same() -> None:
    async def body(world: World) -> None:
        old = await ready_statefulset(world, 3, metadata={"annotations": {MAX_UNAVAILABLE: "3"}})
        budget = pdb("db", min_available=2, selector={"app": "db"})
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        await world.settle(10)
        await completed(world, *await requested(world, *old), timeout=4 * 3600.0)
        await world.until(lambda: is_whole(world, 3))
        assert fewest(world, 3) == 2

    in_world(body)


def test_a_drain_moves_the_members_of_the_node() -> None:
    async def body(world: World) -> None:
        old = await ready_statefulset(world, 6)
        node = old[0]["spec"]["nodeName"]
        there = [pod["metadata"]["name"] for pod in old if pod["spec"]["nodeName"] == node]
        assert len(there) > 1
        await drain(world, node)
        await world.until(lambda: phase(world) == "Drained", 3600.0)
        await world.until(lambda: is_whole(world, 6))
        assert on_node(world, node) == []
        assert gone(world) == sorted(there, reverse=True)
        assert fewest(world, 6) == 5

    in_world(body, nodes=3)


def test_on_delete_is_declined() -> None:
    async def body(world: World) -> None:
        old = await ready_statefulset(world, 2, spec={"updateStrategy": {"type": "OnDelete"}})
        (request,) = await requested(world, old[0])
        await completed(world, request, timeout=120.0)
        shown = {one["type"]: one for one in status(world, request)["conditions"]}
        assert "OnDelete leaves deletions to people" in shown[DECLINED]["message"]

    in_world(body)


def test_a_member_that_stays_down_is_waited_for_and_then_left_to_the_budget() -> None:
    async def body(world: World) -> None:
        old = await ready_statefulset(world, 2)
        world.pool.isolate(old[0]["spec"]["nodeName"])
        await world.until(lambda: not is_whole(world, 2), 600.0)
        (request,) = await requested(world, old[1])
        await world.sim.clock.sleep(300)
        assert gone(world) in ([], ["db-0"])  # the taint manager may begin to delete it
        assert "Waiting for pod db-0" in status(world, request)["message"]
        await completed(world, request, timeout=1200.0)
        shown = {one["type"]: one for one in status(world, request)["conditions"]}
        assert "pod db-0 did not become ready in time" in shown[DECLINED]["message"]

    in_world(body, nodes=4)


def test_a_cancelled_request_leaves_its_place_to_the_next() -> None:
    async def body(world: World) -> None:
        old = await ready_statefulset(world, 3)
        requests = await requested(world, *old)
        await world.client.delete(EVICTIONREQUESTS, requests[2], "default")
        await completed(world, *requests)
        await world.until(lambda: is_whole(world, 3))
        assert gone(world) == ["db-1", "db-0"]
        assert members(world)[2]["metadata"]["uid"] == old[2]["metadata"]["uid"]
        assert fewest(world, 3) == 2

    in_world(body)
