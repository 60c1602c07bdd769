"""Direct evictions of pods whose responders have their turns in lifecycle.k8s.io."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from controllers.lifecycle.test_coexistence import Slow, by_upstream
from support.simulated.clusters import in_world
from support.simulated.evictions import A, active, finish
from support.simulated.workloads import created, events_of
from vacate.admission.pods.bridge import INTERCEPTOR
from vacate.api.kinds import EVICTIONREQUESTS, LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.client.client import Client
from vacate.client.requests import STRATEGIC_PATCH
from vacate.errors import NotFound, TooManyRequests
from vacate.eviction.callers import CALLERS
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World
from vacate.testing import pod
from vacate.wire.message import Peer

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

GATES = parse_feature_gates("EvictionBridge=true,LifecycleAPI=true")
BACKUP, WARN = "backup.example.com/backup", "warn.example.com/users"
ALICE, BOB = "bridge.vacate.dev/alice", "bridge.vacate.dev/bob"


async def given_pod(world: World, *interceptors: str) -> Obj:
    made = pod("web")
    if interceptors:
        made["spec"]["evictionInterceptors"] = [{"name": one} for one in interceptors]
    listed = [{"name": BACKUP, "priority": 20_000}, {"name": WARN, "priority": 15_000}]
    made["spec"]["evictionResponders"] = listed
    await world.client.create(PODS, made, "default")
    return created(world, PODS, "web")


def of(world: World, user: str) -> Client:
    return world.client_of(user, Peer(user, ("system:masters",)))


async def refused(client: Client) -> str:
    """What a caller reads who has to wait."""
    with pytest.raises(TooManyRequests) as caught:
        await client.evict("web", "default")
    assert caught.value.has_cause("EvictionRequest")
    return caught.value.message


async def keep_asking(client: Client) -> None:
    while True:
        with contextlib.suppress(TooManyRequests):
            with contextlib.suppress(NotFound):
                await client.evict("web", "default")
            return
        await asyncio.sleep(5)


def intents(world: World) -> dict[str, str]:
    return {one["spec"]["requester"]: one["spec"]["intent"] for one in world.objects(LIFECYCLE_REQUESTS)}


def states(world: World, name: str = "pod-1-web") -> dict[str, str]:
    found = world.find(LIFECYCLE_EVICTIONS, name, "default") or {}
    return {one["name"]: one["state"] for one in found.get("status", {}).get("targetResponders", ())}


async def respond(world: World, responder: str, **fields: str) -> None:
    record = {"name": responder, "heartbeatTime": format_time(world.sim.clock.now()), **fields}
    await world.client.patch(
        LIFECYCLE_EVICTIONS, "pod-1-web", {"status": {"responders": [record]}}, "default",
        patch_type=STRATEGIC_PATCH, subresource="status",
    )  # fmt: skip


def test_an_eviction_requests_waits_for_all_responders_and_ends_the_pod() -> None:
    async def body(world: World) -> None:
        uid = (await given_pod(world))["metadata"]["uid"]
        alice, bob = of(world, "alice"), of(world, "bob")
        assert f"{BACKUP} (1 of 2)" in await refused(alice)
        await world.until(lambda: states(world).get(BACKUP) == "Active")
        await respond(world, BACKUP, message="saving")
        assert "It says: saving" in await refused(bob)
        assert intents(world) == {ALICE: "Eviction", BOB: "Eviction"}
        (first, _) = world.objects(LIFECYCLE_REQUESTS)
        assert [one["uid"] for one in first["metadata"]["ownerReferences"]] == [uid]
        draining = asyncio.create_task(keep_asking(alice))
        for responder in (BACKUP, WARN):
            await world.until(lambda responder=responder: states(world)[responder] == "Active")  # type: ignore[misc]
            assert world.find(PODS, "web", "default") is not None
            await respond(world, responder, completionTime=format_time(world.sim.clock.now()))
        await draining
        await world.until(lambda: world.find(PODS, "web", "default") is None)
        assert world.objects(EVICTIONREQUESTS) == []

    in_world(body, gates=GATES, nodes=0)


def test_an_eviction_waits_for_responders_though_interceptors_of_the_pod_are_done() -> None:
    """It is requested by the API of the interceptors, and somebody else has requested it by the other."""

    async def body(world: World) -> None:
        target = await given_pod(world, A)
        alice, uid = of(world, "alice"), str(target["metadata"]["uid"])
        assert f"interceptor {A} (1 of 1)" in await refused(alice)
        await by_upstream(world, target)
        await world.until(lambda: active(world, uid) == A and bool(world.objects(LIFECYCLE_EVICTIONS)))
        world.network.audit = Slow(world, LIFECYCLE_EVICTIONS.plural)
        await finish(world, uid)
        await world.sim.clock.sleep(1)
        assert not states(world)
        assert f"{BACKUP} (1 of 2), which is assigned next" in await refused(alice)
        await world.until(lambda: states(world).get(BACKUP) == "Active")
        world.network.audit = None
        await respond(world, BACKUP, message="saving")
        assert "It says: saving" in await refused(alice)
        for responder in (BACKUP, WARN):
            await world.until(lambda responder=responder: states(world)[responder] == "Active")  # type: ignore[misc]
            assert responder in await refused(alice)
            await respond(world, responder, completionTime=format_time(world.sim.clock.now()))
        await keep_asking(alice)
        await world.until(lambda: world.find(PODS, "web", "default") is None)
        assert set(intents(world)) <= {"acme.io/drain"}

    in_world(body, gates=GATES, nodes=0)


def test_a_responder_whose_turn_it_is_evicts_the_pod_though_it_has_interceptors() -> None:
    async def body(world: World) -> None:
        target = await given_pod(world, A)
        alice, uid = of(world, "alice"), str(target["metadata"]["uid"])
        await refused(alice)
        await by_upstream(world, target)
        await world.until(lambda: active(world, uid) == A)
        await finish(world, uid)
        await world.until(lambda: states(world).get(BACKUP) == "Active")
        await refused(alice)
        await alice.evict("web", "default", annotations={INTERCEPTOR: BACKUP})
        await world.until(lambda: world.find(PODS, "web", "default") is None)

    in_world(body, gates=GATES, nodes=0)


def test_a_caller_that_stops_asking_is_withdrawn_and_one_that_asks_again_returns() -> None:
    """Ten minutes after the last attempt at the earliest, eleven at the latest; then nobody wants it."""

    async def body(world: World) -> None:
        await given_pod(world)
        alice = of(world, "alice")
        await refused(alice)
        waiting = asyncio.create_task(keep_asking(of(world, "bob")))
        await world.sim.clock.sleep(595)
        assert intents(world) == {ALICE: "Eviction", BOB: "Eviction"}
        await world.until(lambda: intents(world) == {ALICE: "Withdrawn", BOB: "Eviction"}, 120)
        waiting.cancel()
        await respond(world, BACKUP)  # it works on, and would lose its turn
        await world.until(lambda: set(intents(world).values()) == {"Withdrawn"}, 700)
        for one in world.objects(LIFECYCLE_REQUESTS):
            assert CALLERS not in one["metadata"].get("annotations", {})
            await world.until(lambda one=one: events_of(world, one["metadata"]["name"], "CallerWithdrawn"))  # type: ignore[misc]
        await world.until(lambda: states(world)[BACKUP] == "Canceled")
        assert world.find(PODS, "web", "default") is not None
        await refused(alice)
        await world.until(lambda: states(world, "pod-2-web").get(BACKUP) == "Active")
        assert intents(world) == {ALICE: "Eviction", BOB: "Withdrawn"}

    in_world(body, gates=GATES, nodes=0)
