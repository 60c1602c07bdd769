"""The eviction bridge in a simulated cluster: requests are made and joined, callers wait and are answered."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from typing import Any

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import A, B, finish, found, request_eviction, running_pod
from support.simulated.workloads import condition_of, created, events_of, history
from vacate.api.kinds import EVICTIONREQUESTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.api.options import DRY_RUN_ALL, DeleteOptions
from vacate.client.client import Client
from vacate.errors import ApiError, NotFound, TooManyRequests
from vacate.eviction.callers import CALLERS, callers_of
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World
from vacate.testing import pdb
from vacate.wire.message import Peer

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

GATES = parse_feature_gates("EvictionBridge=true")
MASTERS = ("system:masters",)
ALICE, BOB = "alice.bridge.vacate.dev", "bob.bridge.vacate.dev"


def of(world: World, user: str) -> Client:
    return world.client_of(user, Peer(user, MASTERS))


async def refused(client: Client, pod: str = "p", **options: Any) -> str:
    """What a caller reads who has to wait."""
    with pytest.raises(TooManyRequests) as caught:
        await client.evict(pod, "default", DeleteOptions(**options))
    assert caught.value.has_cause("EvictionRequest")
    assert caught.value.retry_after_seconds is None
    return caught.value.message


async def keep_asking(client: Client, pod: str = "p", *, every: float = 5.0, **options: Any) -> None:
    """As kubectl drain does it: 429 is asked again, 404 is the end, all else is an error."""
    while True:
        with contextlib.suppress(TooManyRequests):
            with contextlib.suppress(NotFound):
                await client.evict(pod, "default", DeleteOptions(**options))
            return
        await asyncio.sleep(every)


def requesters(world: World, name: str) -> list[str]:
    return [one["name"] for one in found(world, name)["spec"].get("requesters", [])]


def request_of(world: World, pod: Obj) -> Obj | None:
    return world.find(EVICTIONREQUESTS, pod["metadata"]["uid"], "default")


def test_an_eviction_makes_a_request_waits_for_all_and_ends_the_pod() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, interceptors=[B, A])
        alice, name = of(world, "alice"), pod["metadata"]["uid"]
        assert f"interceptor {A} (1 of 2)" in await refused(alice)
        request = found(world, name)
        assert requesters(world, name) == [ALICE]
        assert "ownerReferences" not in request["metadata"]
        assert request["metadata"]["annotations"]["vacate.dev/reason"] == "eviction through the API by alice"
        await refused(of(world, "bob"), uid=name)
        assert requesters(world, name) == [ALICE, BOB]
        draining = asyncio.create_task(keep_asking(alice))
        for turn in (A, B):
            await world.until(
                lambda turn=turn: found(world, name)["status"].get("activeInterceptorName") == turn  # type: ignore[misc]
            )
            assert world.find(PODS, "p", "default") == created(world, PODS, "p")
            await finish(world, name)
        await draining
        await world.until(lambda: world.find(PODS, "p", "default") is None)
        await world.until(lambda: condition_of(found(world, name), "Complete") == "True")

    in_world(body, gates=GATES)


def test_evictions_that_pass_leave_no_request() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, interceptors=[A])
        alice = of(world, "alice")
        await alice.evict("p", "default", DeleteOptions(dry_run=DRY_RUN_ALL))
        with pytest.raises(ApiError) as other:
            await alice.evict("p", "default", DeleteOptions(uid="another"))
        assert other.value.status_code == 409
        with pytest.raises(NotFound):
            await alice.evict("absent", "default")
        await running_pod(world, "plain")
        await alice.evict("plain", "default")
        assert request_of(world, pod) is None
        assert world.objects(EVICTIONREQUESTS) == []

    in_world(body, gates=GATES)


def test_a_caller_that_stops_asking_is_withdrawn_and_others_stay() -> None:
    """Ten minutes after the last attempt at the earliest, eleven at the latest; then nobody wants it."""

    async def body(world: World) -> None:
        pod = await running_pod(world, interceptors=[A])
        name = pod["metadata"]["uid"]
        alice, bob = of(world, "alice"), of(world, "bob")
        await refused(alice)
        waiting = asyncio.create_task(keep_asking(bob, every=30))
        await asyncio.sleep(595)
        assert requesters(world, name) == [ALICE, BOB]
        await world.until(lambda: requesters(world, name) == [BOB], timeout=120)
        await world.until(lambda: len(events_of(world, name, "CallerWithdrawn")) == 1)
        await world.evictions.crash()
        waiting.cancel()
        await asyncio.sleep(300)
        await world.evictions.start()
        began = world.sim.clock.now()
        await world.until(lambda: condition_of(found(world, name), "Complete", "reason") == "Cancelled")
        assert world.sim.clock.now() - began <= dt.timedelta(seconds=365)
        request = found(world, name)
        assert CALLERS not in request["metadata"].get("annotations", {})
        assert [one["uid"] for one in request["metadata"]["ownerReferences"]] == [name]
        assert condition_of(created(world, PODS, "p"), "Ready") == "True"
        await world.until(lambda: len(events_of(world, name, "CallerWithdrawn")) == 2)
        # Who comes back gets a new request.
        await refused(alice)
        await world.until(lambda: requesters(world, name) == [ALICE])

    in_world(body, gates=GATES)


def test_attempts_are_recorded_coarsely() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, interceptors=[A])
        name, alice = pod["metadata"]["uid"], of(world, "alice")
        waiting = asyncio.create_task(keep_asking(alice))
        await asyncio.sleep(1200)
        waiting.cancel()
        assert requesters(world, name) == [ALICE]
        written = {
            one["metadata"].get("annotations", {}).get(CALLERS) for _, one in history(world, EVICTIONREQUESTS)
        }
        assert 15 <= len(written - {None}) <= 22  # of 240 attempts

    in_world(body, gates=GATES)


def test_a_pod_created_again_is_left_alone_once_by_those_who_asked_for_the_first() -> None:
    async def body(world: World) -> None:
        first = await running_pod(world, interceptors=[A])
        alice, name = of(world, "alice"), first["metadata"]["uid"]
        await refused(alice)
        await world.until(lambda: found(world, name)["status"].get("activeInterceptorName") == A)
        await world.client.delete(PODS, "p", "default", DeleteOptions(grace_period_seconds=0))
        await world.until(lambda: world.find(PODS, "p", "default") is None)
        second = await running_pod(world, interceptors=[A])
        await world.until(lambda: condition_of(found(world, name), "Complete", "reason") == "PodDeleted")
        with pytest.raises(NotFound, match="another pod of the same name"):
            await alice.evict("p", "default")
        assert request_of(world, second) is None
        assert callers_of(found(world, name)["metadata"]["annotations"])[ALICE].answered
        # A caller who has received that answer means the second pod: the next node is drained.
        await refused(alice)
        assert request_of(world, second) is not None
        await refused(of(world, "bob"))
        # The first request goes when it is no longer needed.
        await world.until(lambda: world.find(EVICTIONREQUESTS, name, "default") is None, timeout=900)

    in_world(body, gates=GATES)


def test_a_budget_refuses_as_ever_when_interceptors_are_done() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, interceptors=[A], labels={"app": "p"})
        name, alice = pod["metadata"]["uid"], of(world, "alice")
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("p", min_available=1), "default")
        await refused(alice, grace_period_seconds=7)
        await world.until(lambda: found(world, name)["status"].get("activeInterceptorName") == A)
        await finish(world, name)
        with pytest.raises(TooManyRequests) as caught:
            await alice.evict("p", "default", DeleteOptions(grace_period_seconds=7))
        assert caught.value.has_cause("DisruptionBudget")
        assert not callers_of(found(world, name)["metadata"]["annotations"])[ALICE].answered
        # Our controller is the one that evicts in the end, with the caller's grace period.
        await world.client.patch(PODDISRUPTIONBUDGETS, "p", {"spec": {"minAvailable": 0}}, "default")
        await world.until(lambda: world.find(PODS, "p", "default") is None)
        gone = [one for _, one in history(world, PODS) if "deletionTimestamp" in one["metadata"]]
        assert gone[0]["metadata"]["deletionGracePeriodSeconds"] == 7

    in_world(body, gates=GATES)


def test_a_request_of_others_is_joined_and_stays_theirs() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, interceptors=[A])
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"]}
        name = await request_eviction(world, pod, ownerReferences=[owner])
        await refused(of(world, "alice"))
        assert requesters(world, name) == ["drain.example.com", ALICE]
        assert "ownerReferences" not in found(world, name)["metadata"]
        await world.until(lambda: requesters(world, name) == ["drain.example.com"], timeout=900)
        assert [one["uid"] for one in found(world, name)["metadata"]["ownerReferences"]] == [name]

    in_world(body, gates=GATES)
