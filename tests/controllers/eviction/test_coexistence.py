"""Requests by two APIs for one pod, which were created at the same moment: one process, one eviction."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import as_interceptor, finish, request_eviction, running_pod, status
from support.simulated.workloads import condition_of, created, history
from vacate.api.kinds import EVACUATIONS, EVENTS, EVICTIONREQUESTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.client.requests import STRATEGIC_PATCH
from vacate.crds.evacuation import strategy as evacuation_strategy
from vacate.crds.evictionrequest import strategy as eviction_strategy
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.registration import PREFIXES
from vacate.eviction.succession import HANDED_OVER, record_patch, successor
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World
from vacate.testing import pdb

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

BOTH = parse_feature_gates("EvacuationAPI=true")
SAVER, MOVER = "saver.example.com", "mover.example.com"


@pytest.fixture(autouse=True)
def _at_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither admission sees the request of the other, as where both are reviewed before one is stored."""
    for module in (eviction_strategy, evacuation_strategy):
        monkeypatch.setattr(module, "refuse_second_request", lambda *_: None)


async def requested_twice(world: World, *, evacuation_first: bool) -> tuple[str, str]:
    """A pod with an interceptor and an evacuator, requested by both APIs; the names of the requests."""
    registered = {f"{PREFIXES[0]}/priority_{SAVER}": "10", f"{PREFIXES[1]}/priority_{MOVER}": "10"}
    pod = await running_pod(world, metadata={"annotations": registered})
    evacuation = EVACUATION.new_request(codec_for(Pod).convert(pod), "drain.example.com", "", None)
    if evacuation_first:
        await world.client.create(EVACUATIONS, evacuation, "default")
        await world.sim.clock.sleep(1.0)
    request = await request_eviction(world, pod)
    if not evacuation_first:
        await world.client.create(EVACUATIONS, evacuation, "default")
    return request, str(evacuation["metadata"]["name"])


def evacuation_status(world: World, name: str) -> Obj:
    found: Obj = created(world, EVACUATIONS, name).get("status", {})
    return found


async def finish_evacuator(world: World, name: str) -> None:
    change = {"status": {"activeEvacuatorCompleted": True}}
    await world.client.patch(EVACUATIONS, name, change, "default", subresource="status")


@pytest.mark.parametrize("evacuation_first", [False, True])
def test_each_gets_its_turn_and_the_pod_is_evicted_once(evacuation_first: bool) -> None:
    async def body(world: World) -> None:
        request, evacuation = await requested_twice(world, evacuation_first=evacuation_first)

        async def first() -> None:
            await world.until(lambda: status(world, request).get("activeInterceptorName") == SAVER)
            await as_interceptor(world, request, evictionRequestCancellationPolicy="Forbid")
            await world.sim.clock.sleep(120.0)
            assert world.find(PODS, "p", "default") is not None
            await finish(world, request)

        async def second() -> None:
            await world.until(
                lambda: evacuation_status(world, evacuation).get("activeEvacuatorClass") == MOVER
            )
            await world.sim.clock.sleep(120.0)
            assert world.find(PODS, "p", "default") is not None
            await finish_evacuator(world, evacuation)

        for step in (second, first) if evacuation_first else (first, second):
            await step()
        await world.until(lambda: world.find(PODS, "p", "default") is None, 120.0)
        await world.until(lambda: world.find(EVACUATIONS, evacuation, "default") is None, 120.0)
        evicted = [one for one in world.objects(EVENTS) if one["reason"] == "EvictedByRequest"]
        assert [one["count"] for one in evicted] == [1]

    in_world(body, gates=BOTH)


def test_who_waits_says_for_what() -> None:
    async def body(world: World) -> None:
        request, evacuation = await requested_twice(world, evacuation_first=False)
        await world.until(lambda: status(world, request).get("activeInterceptorName") == SAVER)
        await world.until(
            lambda: f"EvictionRequest {request}" in evacuation_status(world, evacuation)["message"]
        )
        await world.sim.clock.sleep(60.0)
        assert not evacuation_status(world, evacuation).get("activeEvacuatorClass")
        await world.client.delete(EVICTIONREQUESTS, request, "default")  # cancelled: the other goes on
        await world.until(lambda: evacuation_status(world, evacuation).get("activeEvacuatorClass") == MOVER)

    in_world(body, gates=BOTH)


def test_a_request_that_is_superseded_does_not_hold_the_other() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, metadata={"labels": {"app": "p"}})
        budget = pdb("p", min_available=1, selector={"app": "p"})
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        name = await request_eviction(world, pod)
        evacuation = EVACUATION.new_request(codec_for(Pod).convert(pod), "drain.example.com", "", None)
        await world.client.create(EVACUATIONS, evacuation, "default")
        await world.until(
            lambda: condition_of(created(world, EVICTIONREQUESTS, name), "Progressing", "reason") == "Blocked"
        )
        registered = {"metadata": {"annotations": {f"{PREFIXES[0]}/priority_{SAVER}": "10"}}}
        await world.client.patch(PODS, "p", registered, "default")
        await world.sim.clock.sleep(60.0)
        await world.client.delete(PODDISRUPTIONBUDGETS, "p", "default")
        await world.until(lambda: world.find(PODS, "p", "default") is None, 3600.0)

    in_world(body, gates=BOTH)


def test_records_of_both_kinds_stand_side_by_side() -> None:
    """Both requests were superseded, and the manager died before it made either of the new ones."""

    async def body(world: World) -> None:
        pod = await running_pod(world)
        uid, now = pod["metadata"]["uid"], world.sim.clock.now()
        evacuation = EVACUATION.new_request(codec_for(Pod).convert(pod), "bob.example.com", "", None)
        target = {"podRef": {"name": "p", "uid": uid}}
        request = {
            "metadata": {"name": uid, "namespace": "default", "uid": "1"},
            "spec": {"target": target, "requesters": [{"name": "anna.example.com"}]},
        }
        evacuation["metadata"]["uid"] = "2"
        new = {
            EVICTIONREQUESTS: successor(request, ()),
            EVACUATIONS: successor(evacuation, evacuation["metadata"]["finalizers"]),
        }
        await world.evictions.crash()
        for kind, one in new.items():
            patch = record_patch(kind, uid, one, now)
            await world.client.patch(
                PODS, "p", patch, "default", patch_type=STRATEGIC_PATCH, subresource="status"
            )
        await world.evictions.start()
        await world.until(lambda: world.find(PODS, "p", "default") is None, 60.0)
        for kind, one in new.items():
            made = [found for _, found in history(world, kind)]
            assert {found["metadata"]["name"] for found in made} == {one["metadata"]["name"]}, kind.kind

    in_world(body, gates=BOTH)


def test_a_record_that_cannot_be_read_holds_nothing() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world)
        record = {"type": HANDED_OVER[EVICTIONREQUESTS], "status": "True", "reason": "x", "message": "x"}
        change = {"status": {"conditions": [{**record, "lastTransitionTime": "2024-01-01T00:00:00Z"}]}}
        await world.client.patch(
            PODS,
            "p",
            change,
            "default",
            patch_type="application/strategic-merge-patch+json",
            subresource="status",
        )
        await request_eviction(world, pod)
        await world.until(lambda: world.find(PODS, "p", "default") is None, 60.0)

    in_world(body)
