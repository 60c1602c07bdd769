"""Requests that are blocked by a budget, and interceptors that are registered, or could help, only then."""

from __future__ import annotations

import asyncio

import pytest

from support.effort import SEEDS
from support.matrix.place import Refusal
from support.matrix.simulated import Refusals, SimulatedPlace
from support.simulated.clusters import in_world
from support.simulated.deployments import REGISTERED, fewest, is_quiet, pods, replicas
from support.simulated.dyingmanager import die_at_every_request
from support.simulated.evictions import A, B, finish, found, request_eviction, running_pod, status
from support.simulated.maintenances import drain, on_node, phase
from support.simulated.workloads import condition_of, created, events_of, history, running
from vacate.api.kinds import (
    DEPLOYMENTS,
    EVACUATIONS,
    EVICTIONREQUESTS,
    PODDISRUPTIONBUDGETS,
    PODS,
    STATEFULSETS,
)
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.api.types.evacuation import INSTIGATOR
from vacate.api.types.evictionrequest import SUPERSEDES
from vacate.api.workloads import OPT_IN, STATEFULSET_INTERCEPTOR
from vacate.client.codec import codec_for
from vacate.client.requests import STRATEGIC_PATCH
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.succession import HANDED_OVER, record_patch, successor
from vacate.features import parse_feature_gates
from vacate.sdk import Requester
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.run import Sim, run_sim
from vacate.testing import pdb, statefulset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=4)]


BOTH = parse_feature_gates("EvacuationAPI=true")


async def guarded_replica(world: World) -> Obj:
    """A single replica behind a strict budget, whose workload has not opted in."""
    await running(world, "web", 1)
    await world.client.create(
        PODDISRUPTIONBUDGETS, pdb("web", min_available=1, selector={"app": "web"}), "default"
    )
    (pod,) = pods(world)
    return pod


async def opt_in(world: World) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": {OPT_IN: "true"}}}, "default")


def stages(world: World, uid: str) -> list[str]:
    """What the requests of one name went through, an entry for each change of the stage."""
    seen = [
        condition_of(one, "Progressing", "reason")
        for gone, one in history(world, EVICTIONREQUESTS)
        if not gone and one["metadata"]["name"] == uid
    ]
    return [stage for stage, before in zip(seen, ["", *seen], strict=False) if stage and stage != before]


def test_opting_in_frees_a_drain_that_is_blocked_already() -> None:
    async def body(world: World) -> None:
        old = await guarded_replica(world)
        node, uid = old["spec"]["nodeName"], old["metadata"]["uid"]
        await drain(world, node)
        await world.until(lambda: phase(world) == "Blocked")
        await world.sim.clock.sleep(300.0)  # refused a few times by now
        await opt_in(world)
        await world.until(lambda: phase(world) == "Drained", 60.0)
        await world.until(lambda: is_quiet(world))
        assert on_node(world, node) == []
        assert (fewest(world, 1), replicas(world)) == (1, 1)
        assert "Superseded" in stages(world, uid)
        await world.until(lambda: bool(events_of(world, old["metadata"]["name"], "EvictionSuperseded")))
        (message,) = set(events_of(world, old["metadata"]["name"], "EvictionSuperseded"))
        assert "the pod now registers replicaset.apps.k8s.io, deployment.apps.k8s.io" in message
        assert "Requested by kernel.nodemaintenance.vacate.dev." in message

    in_world(body)


def test_opting_in_frees_a_later_drain_of_a_pod_whose_request_was_cancelled() -> None:
    async def body(world: World) -> None:
        old = await guarded_replica(world)
        uid = await request_eviction(world, old)
        await world.until(lambda: is_blocked(world, uid))
        await world.client.patch(EVICTIONREQUESTS, uid, {"spec": {"requesters": []}}, "default")
        await world.until(lambda: condition_of(found(world, uid), "Complete", "reason") == "Cancelled")
        await opt_in(world)
        await world.until(lambda: all(REGISTERED[0] in str(one["metadata"]) for one in pods(world)))
        await drain(world, old["spec"]["nodeName"])
        await world.until(lambda: phase(world) == "Drained", 120.0)
        assert (fewest(world, 1), replicas(world)) == (1, 1)

    in_world(body)


def test_opting_in_reaches_the_blocked_request_of_a_pod_of_a_statefulset() -> None:
    async def body(world: World) -> None:
        await world.client.create(STATEFULSETS, statefulset(replicas=2), "default")
        await world.until(lambda: condition_of(world.find(PODS, "db-1", "default") or {}, "Ready") == "True")
        budget = pdb("db", min_available=2, selector={"app": "db"})
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        uid = await request_eviction(world, created(world, PODS, "db-1"))
        await world.until(lambda: is_blocked(world, uid))
        first = found(world, uid)["metadata"]["uid"]
        change = {"metadata": {"annotations": {OPT_IN: "true"}}}
        await world.client.patch(STATEFULSETS, "db", change, "default")
        await world.until(lambda: is_replaced(world, uid, first), 60.0)
        named = [one["name"] for one in found(world, uid)["spec"]["interceptors"]]
        assert named == [STATEFULSET_INTERCEPTOR]
        await world.until(
            lambda: found(world, uid).get("status", {}).get("activeInterceptorName") == named[0]
        )

    in_world(body)


def requester(world: World, name: str) -> Requester:
    return Requester(world.client, name, clock=world.sim.clock, entropy=world.sim.entropy)


def is_blocked(world: World, uid: str) -> bool:
    return condition_of(found(world, uid), "Progressing", "reason") == "Blocked"


def is_replaced(world: World, uid: str, first: str) -> bool:
    request = world.find(EVICTIONREQUESTS, uid, "default")
    return request is not None and request["metadata"]["uid"] != first


def test_the_new_request_has_the_requesters_the_reason_and_the_deadline_of_the_old_one() -> None:
    async def body(world: World) -> None:
        old = await guarded_replica(world)
        name, uid = old["metadata"]["name"], old["metadata"]["uid"]
        anna = requester(world, "anna.example.com")
        first = await anna.request(name, "default", reason="kernel update", deadline_seconds=900)
        await requester(world, "bob.example.com").request(name, "default")
        await world.until(lambda: is_blocked(world, uid))
        waiting = world.sim.loop.create_task(anna.wait(first))
        await opt_in(world)
        await world.until(lambda: is_replaced(world, uid, first.metadata.uid), 60.0)
        new = found(world, uid)
        assert [one["name"] for one in new["spec"]["requesters"]] == ["anna.example.com", "bob.example.com"]
        assert tuple(one["name"] for one in new["spec"]["interceptors"]) == REGISTERED
        assert new["spec"]["heartbeatDeadlineSeconds"] == 900
        assert new["metadata"]["annotations"]["vacate.dev/reason"] == "kernel update"
        assert new["metadata"]["annotations"][SUPERSEDES] == first.metadata.uid
        assert [one["uid"] for one in new["metadata"]["ownerReferences"]] == [uid]
        result = await waiting  # the end of the first was not the end for who waits
        assert result.pod_ended
        assert not any(condition_of(one, HANDED_OVER[EVICTIONREQUESTS]) for one in world.objects(PODS))

    in_world(body)


def test_an_evacuation_takes_up_evacuators_too() -> None:
    async def body(world: World) -> None:
        pod = codec_for(Pod).convert(await guarded_replica(world))
        evacuation = EVACUATION.new_request(pod, "drain.example.com", "", None)
        name = evacuation["metadata"]["name"]
        await world.client.create(EVACUATIONS, evacuation, "default")
        await world.until(
            lambda: condition_of(created(world, EVACUATIONS, name), "Progressing", "reason") == "Blocked"
        )
        await opt_in(world)
        await world.until(lambda: pod.metadata.name not in {one["metadata"]["name"] for one in pods(world)})
        await world.until(lambda: is_quiet(world))
        assert fewest(world, 1) == 1
        made = {one["metadata"]["uid"]: one for gone, one in history(world, EVACUATIONS) if not gone}
        assert len(made) == 2
        assert {one.removeprefix(INSTIGATOR) for one in list(made.values())[1]["metadata"]["finalizers"]} <= {
            "drain.example.com"
        }

    in_world(body, gates=BOTH)


def test_a_request_whose_pod_can_no_longer_be_cancelled_goes_on() -> None:
    async def body(world: World) -> None:
        old = await guarded_replica(world)
        uid = await request_eviction(world, old)
        await world.until(lambda: is_blocked(world, uid))
        before = found(world, uid)["metadata"]["uid"]
        await world.client.patch(
            EVICTIONREQUESTS,
            uid,
            {"status": {"evictionRequestCancellationPolicy": "Forbid"}},
            "default",
            subresource="status",
        )
        await opt_in(world)
        await world.sim.clock.sleep(120.0)
        assert found(world, uid)["metadata"]["uid"] == before

    in_world(body)


def test_a_finalizer_of_others_keeps_the_request_and_its_process() -> None:
    async def body(world: World) -> None:
        old = await guarded_replica(world)
        uid = await request_eviction(world, old)
        await world.until(lambda: is_blocked(world, uid))
        held = {"metadata": {"finalizers": ["example.com/audit"]}}
        await world.client.patch(EVICTIONREQUESTS, uid, held, "default")
        await opt_in(world)
        await world.sim.clock.sleep(60.0)
        assert is_blocked(world, uid)  # and not over: the budget may still let the pod go
        assert "example.com/audit" in events_of(world, old["metadata"]["name"], "SuccessorRefused")[0]
        await world.client.patch(EVICTIONREQUESTS, uid, {"metadata": {"finalizers": None}}, "default")
        await world.until(lambda: world.find(PODS, old["metadata"]["name"], "default") is None, 60.0)

    in_world(body)


def test_a_hand_over_that_a_policy_refuses_is_shown_and_goes_on_afterwards() -> None:
    async def body(world: World) -> None:
        refusals = Refusals()
        world.network.audit = refusals
        old = await guarded_replica(world)
        name, uid = old["metadata"]["name"], await request_eviction(world, old)
        await world.until(lambda: is_blocked(world, uid))
        refusals.active.append(Refusal("policy", "PATCH", PODS, "status"))
        await opt_in(world)
        await world.until(lambda: events_of(world, uid, "WriteRefused") != [], 60.0)
        (event,) = events_of(world, uid, "WriteRefused")
        assert "Policy 'company'" in event
        assert is_blocked(world, uid)  # and not over: the budget may still let the pod go
        refusals.active.clear()
        await world.until(lambda: world.find(PODS, name, "default") is None, 60.0)

    in_world(body)


async def two_requesters_and_an_opt_in(world: World) -> tuple[list[str], bool]:
    """Who requests the eviction in the end, and whether the pod was moved without a gap."""
    old = await guarded_replica(world)
    name, uid = old["metadata"]["name"], old["metadata"]["uid"]
    await requester(world, "anna.example.com").request(name, "default")
    await requester(world, "bob.example.com").request(name, "default")
    await world.until(lambda: is_blocked(world, uid), 600.0)
    await opt_in(world)
    await world.until(lambda: world.find(PODS, name, "default") is None, 7200.0)
    await world.until(lambda: is_quiet(world), 7200.0)
    last = [one for gone, one in history(world, EVICTIONREQUESTS) if one["metadata"]["name"] == uid][-1]
    return [one["name"] for one in last["spec"]["requesters"]], fewest(world, 1) == 1


@pytest.mark.timeout(900)  # a thorough run tries every moment of a crash
@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("after", [False, True])
def test_a_manager_that_dies_at_any_request_loses_no_requester(after: bool) -> None:
    expected = (["anna.example.com", "bob.example.com"], True)
    die_at_every_request(two_requesters_and_an_opt_in, expected, after=after)


@pytest.mark.parametrize("seed", range(max(SEEDS // 10, 1)))
def test_requesters_that_come_at_any_moment_are_kept(seed: int) -> None:
    async def body(world: World) -> None:
        old = await guarded_replica(world)
        name, uid = old["metadata"]["name"], old["metadata"]["uid"]
        first = await requester(world, "anna.example.com").request(name, "default")
        await world.until(lambda: is_blocked(world, uid))
        joined: list[str] = []

        async def join(number: int) -> None:
            await world.sim.clock.sleep(world.sim.entropy.uniform(0.0, 0.2))
            joiner = requester(world, f"joiner-{number}.example.com")
            await joiner.request(name, "default")
            joined.append(joiner.name)

        tasks = [world.sim.loop.create_task(join(number)) for number in range(4)]
        await opt_in(world)
        for task in tasks:
            await task
        await world.until(lambda: is_replaced(world, uid, first.metadata.uid))
        await world.until(
            lambda: not any(condition_of(one, HANDED_OVER[EVICTIONREQUESTS]) for one in world.objects(PODS))
        )
        names = {one["name"] for one in found(world, uid)["spec"]["requesters"]}
        assert names == {"anna.example.com", *joined}

    in_world(body, seed)


async def annotate(world: World, uid: str, **annotations: str) -> None:
    change = {f"vacate.dev/{key}": value for key, value in annotations.items()}
    await world.client.patch(EVICTIONREQUESTS, uid, {"metadata": {"annotations": change}}, "default")


def test_a_user_may_end_the_turn_of_an_interceptor_that_does_not_respond() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, interceptors=[B, A])
        uid = await request_eviction(world, pod)
        await world.until(lambda: status(world, uid).get("activeInterceptorName") == A)
        await annotate(world, uid, skip=A, **{"pushed-by": "somebody-else"})
        await world.until(lambda: status(world, uid).get("activeInterceptorName") == B, 60.0)
        who = found(world, uid)["metadata"]["annotations"]["vacate.dev/pushed-by"]
        assert who not in ("", "somebody-else")  # the server says who
        (line,) = condition_of(found(world, uid), "InterceptorAssigned", "message").splitlines()
        assert (line.split()[0], line.split()[2]) == (A, "failed")
        assert line.endswith(f"Skipped by {who}.")
        says = f"{who} skipped interceptor {A}: its turn is over."
        await world.until(lambda: events_of(world, "p", "InterceptorSkipped") == [says])
        assert status(world, uid)["activeInterceptorCompleted"] is False  # of the one after it

    in_world(body)


def test_a_user_may_have_a_blocked_eviction_tried_again_at_once() -> None:
    async def body(world: World) -> None:
        old = await guarded_replica(world)
        uid = await request_eviction(world, old)
        await world.until(lambda: failed_evictions(world, uid) >= 6, 3600.0)
        tried, first = failed_evictions(world, uid), found(world, uid)["metadata"]["uid"]
        await annotate(world, uid, retry="2026-01-01T00:00:00Z")
        await world.until(lambda: failed_evictions(world, uid) > tried, 5.0)
        await world.sim.clock.sleep(30.0)
        assert failed_evictions(world, uid) == tried + 1  # once for each asking
        assert found(world, uid)["metadata"]["uid"] == first  # nobody could have a turn in another one

    in_world(body)


def test_another_try_gives_interceptors_another_turn() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, interceptors=[A], labels={"app": "p"})
        await world.client.create(
            PODDISRUPTIONBUDGETS, pdb("p", min_available=1, selector={"app": "p"}), "default"
        )
        uid = await request_eviction(world, pod)
        await world.until(lambda: status(world, uid).get("activeInterceptorName") == A)
        await finish(world, uid)
        await world.until(lambda: is_blocked(world, uid))
        first = found(world, uid)["metadata"]["uid"]
        await annotate(world, uid, retry="now")
        await world.until(lambda: is_replaced(world, uid, first), 60.0)
        await world.until(lambda: status(world, uid).get("activeInterceptorName") == A)
        assert "vacate.dev/retry" not in found(world, uid)["metadata"]["annotations"]
        await world.until(lambda: bool(events_of(world, "p", "EvictionSuperseded")))
        assert "asked for another try" in events_of(world, "p", "EvictionSuperseded")[0]

    in_world(body)


def failed_evictions(world: World, uid: str) -> int:
    counted = status(world, uid).get("podEvictionStatus") or {}
    return int(counted.get("failedAPIEvictionCounter", 0))


def test_who_withdraws_while_a_new_request_takes_over_is_withdrawn_from_it() -> None:
    async def main(sim: Sim) -> None:
        async with World(sim, WorldSettings()) as world:
            place = SimulatedPlace(world)
            old = await guarded_replica(world)
            name, uid = old["metadata"]["name"], old["metadata"]["uid"]
            anna = requester(world, "anna.example.com")
            await anna.request(name, "default")
            await world.until(lambda: is_blocked(world, uid))
            await place.refuse(Refusal(kind=EVICTIONREQUESTS, method="POST", by="away"))
            await opt_in(world)
            await world.until(lambda: world.find(EVICTIONREQUESTS, uid, "default") is None)
            withdrawing = sim.loop.create_task(anna.withdraw(name, "default"))
            await sim.clock.sleep(5.0)
            await place.allow()
            assert await withdrawing
            await sim.clock.sleep(120.0)
            assert [one["metadata"]["uid"] for one in world.objects(PODS, "default")] == [uid]

    run_sim(main, limit=86400.0)


def test_a_requester_that_missed_the_end_of_the_old_request_waits_for_the_new_one() -> None:
    """Its watch was interrupted: it sees that the request is gone, and not why."""

    async def body(world: World) -> None:
        made = await running_pod(world, interceptors=[A])
        uid = await request_eviction(world, made)
        await world.until(lambda: status(world, uid).get("activeInterceptorName") == A)
        old = found(world, uid)
        waiting = asyncio.get_running_loop().create_task(requester(world, "drain.example.com").wait("p"))
        await world.sim.clock.sleep(1.0)
        await world.evictions.crash()  # it must not see one of both alone: it writes and removes them in turn
        record = record_patch(EVICTIONREQUESTS, uid, successor(old, ()), world.sim.clock.now())
        await world.client.patch(
            PODS, "p", record, "default", patch_type=STRATEGIC_PATCH, subresource="status"
        )
        await world.client.delete(EVICTIONREQUESTS, uid, "default")
        await world.evictions.start()
        await world.until(lambda: is_replaced(world, uid, old["metadata"]["uid"]), 60.0)
        await world.until(lambda: status(world, uid).get("activeInterceptorName") == A)
        assert not waiting.done()
        await finish(world, uid)
        assert (await waiting).pod_ended

    in_world(body)
