"""A pod requested by lifecycle.k8s.io and by a kind of our own: turns follow each other, whoever leads."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import A, request_eviction
from support.simulated.workloads import created
from vacate.api.kinds import (
    EVACUATIONS,
    EVICTIONREQUESTS,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    PODS,
    Kind,
)
from vacate.api.objects import Obj
from vacate.api.times import format_exact_time, format_time
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.client.requests import STRATEGIC_PATCH
from vacate.embedded.apiserver.inprocess import Handler
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World
from vacate.testing import pod
from vacate.wire.message import Request, Response, Stream

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=4)]

GATES = parse_feature_gates("LifecycleAPI=true,EvacuationAPI=true")
BACKUP = "backup.example.com/backup"


async def given_pod(world: World) -> Obj:
    """A pod with a responder and an interceptor."""
    made = pod("web")
    made["spec"]["evictionResponders"] = [{"name": BACKUP, "priority": 20_000}]
    made["spec"]["evictionInterceptors"] = [{"name": A}]
    await world.client.create(PODS, made, "default")
    return created(world, PODS, "web")


async def by_own_kind(world: World, target: Obj) -> None:
    await request_eviction(world, target)


async def by_evacuation(world: World, target: Obj) -> None:
    made = EVACUATION.new_request(codec_for(Pod).convert(target), "drain.example.com", "", None)
    await world.client.create(EVACUATIONS, made, "default")


async def by_upstream(world: World, target: Obj) -> None:
    meta = target["metadata"]
    spec = {"target": {"pod": {"name": meta["name"], "uid": meta["uid"]}}, "requester": "acme.io/drain"}
    body = {"metadata": {"name": "drain"}, "spec": {**spec, "intent": "Eviction"}}
    await world.client.create(LIFECYCLE_REQUESTS, body, "default")


OWN = {EVICTIONREQUESTS: by_own_kind, EVACUATIONS: by_evacuation}


def active(world: World) -> list[str]:
    """Whose turn it is, by all APIs."""
    found: list[str] = []
    for one in world.objects(LIFECYCLE_EVICTIONS):
        status = one.get("status", {})
        over = [each["name"] for each in status.get("responders", ()) if each.get("completionTime")]
        listed = [each["name"] for each in status.get("targetResponders", ()) if each["state"] == "Active"]
        found += [name for name in listed if name not in over]
    for kind, field in ((EVICTIONREQUESTS, "activeInterceptorName"), (EVACUATIONS, "activeEvacuatorClass")):
        for one in world.objects(kind):
            status = one.get("status", {})
            done = status.get("activeInterceptorCompleted") or status.get("activeEvacuatorCompleted")
            found += [status[field]] if status.get(field) and not done else []
    return found


async def until_active(world: World, name: str) -> None:
    await world.until(lambda: active(world) == [name])


async def complete_turn(world: World, kind: Kind) -> None:
    """As the interceptor, or the responder, whose turn it is."""
    now = world.sim.clock.now()
    if kind is LIFECYCLE_EVICTIONS:
        (one,) = world.objects(kind)
        done: Obj = {"responders": [{"name": BACKUP, "completionTime": format_time(now)}]}
        await world.client.patch(
            kind, one["metadata"]["name"], {"status": done}, "default",
            patch_type=STRATEGIC_PATCH, subresource="status",
        )  # fmt: skip
        return
    (one,) = world.objects(kind)
    name = "activeInterceptorCompleted" if kind is EVICTIONREQUESTS else "activeEvacuatorCompleted"
    done = {"heartbeatTime": format_exact_time(now), name: True}
    if kind is EVACUATIONS:
        done = {"evacuationProgressTimestamp": format_exact_time(now), name: True}
    await world.client.patch(kind, one["metadata"]["name"], {"status": done}, "default", subresource="status")


@pytest.mark.parametrize("own", list(OWN), ids=lambda kind: kind.kind)
@pytest.mark.parametrize("first", ["upstream", "own"])
def test_turns_of_one_api_follow_those_of_the_other(own: Kind, first: str) -> None:
    steps: list[tuple[Callable[[World, Obj], Awaitable[None]], Kind, str]] = [
        (by_upstream, LIFECYCLE_EVICTIONS, BACKUP),
        (OWN[own], own, A),
    ]
    if first == "own":
        steps.reverse()

    async def body(world: World) -> None:
        target = await given_pod(world)
        for ask, _, _ in steps:
            await ask(world, target)
            await world.sim.clock.sleep(5)
        for _, kind, name in steps:
            await until_active(world, name)
            await world.sim.clock.sleep(90)
            assert active(world) == [name]
            assert world.find(PODS, "web", "default") is not None
            await complete_turn(world, kind)
        await world.until(lambda: world.find(PODS, "web", "default") is None)

    in_world(body, gates=GATES, nodes=0)


class Slow:
    """Statuses of a kind are written late; or what happens to objects of both is seen late."""

    def __init__(self, world: World, written: str, *seen: str) -> None:
        self._world = world
        self._written, self._seen = f"/{written}/", seen

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer."""
        if request.method == "PATCH" and self._written in request.path:
            await self._world.sim.clock.sleep(5.0)
        response = await server.handle(request)
        if isinstance(response.body, bytes) or not request.path.endswith(self._seen):
            return response
        return dataclasses.replace(response, body=SlowWatch(self._world, response.body))


class SlowWatch:
    """A watch whose events arrive late."""

    def __init__(self, world: World, stream: Stream) -> None:
        self._world = world
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            await self._world.sim.clock.sleep(5.0)
            yield chunk

    async def aclose(self) -> None:
        """Let go of the stream."""
        await self._stream.aclose()


@pytest.mark.parametrize("late", ["", "upstream", "own"])
@pytest.mark.parametrize("own", list(OWN), ids=lambda kind: kind.kind)
@pytest.mark.parametrize("first", ["upstream", "own", "both"])
def test_of_two_that_are_requested_at_the_same_moment_only_one_has_a_turn(
    own: Kind, first: str, late: str
) -> None:
    asks = [by_upstream, OWN[own]]
    if first == "own":
        asks.reverse()

    async def body(world: World) -> None:
        target, seen = await given_pod(world), dict[str, None]()
        if late:
            world.network.audit = Slow(world, (own if late == "own" else LIFECYCLE_EVICTIONS).plural)
        if first == "both":
            await asyncio.gather(*(ask(world, target) for ask in asks))
        else:
            for ask in asks:
                await ask(world, target)
        while world.find(PODS, "web", "default") is not None:
            await world.until(lambda: active(world) or world.find(PODS, "web", "default") is None)
            await world.sim.clock.sleep(90)
            found = active(world)
            assert len(found) <= 1
            seen |= dict.fromkeys(found)
            if found:
                await complete_turn(world, LIFECYCLE_EVICTIONS if found == [BACKUP] else own)
        assert set(seen) == {A, BACKUP}

    in_world(body, gates=GATES, nodes=0)


def test_turns_of_an_eviction_that_the_cache_does_not_show_yet_come_first() -> None:
    """Of a pod with responders only, which an EvictionRequest would evict at once."""

    async def body(world: World) -> None:
        made = pod("web")
        made["spec"]["evictionResponders"] = [{"name": BACKUP, "priority": 20_000}]
        await world.client.create(PODS, made, "default")
        world.network.audit = Slow(world, "nothing", "/evictions")
        await world.restart(world.evictions)
        target = created(world, PODS, "web")
        await by_upstream(world, target)
        await world.until(lambda: world.objects(LIFECYCLE_EVICTIONS))
        await by_own_kind(world, target)
        await until_active(world, BACKUP)
        await world.sim.clock.sleep(90)
        assert world.find(PODS, "web", "default") is not None
        await complete_turn(world, LIFECYCLE_EVICTIONS)
        await world.until(lambda: world.find(PODS, "web", "default") is None)

    in_world(body, gates=GATES, nodes=0)


def test_the_request_says_what_it_waits_for() -> None:
    async def body(world: World) -> None:
        target = await given_pod(world)
        await by_own_kind(world, target)
        await world.until(lambda: active(world) == [A])
        await by_upstream(world, target)

        def reported() -> str:
            return str([one.get("status") for one in world.objects(LIFECYCLE_REQUESTS)])

        await world.until(lambda: "whose interceptors have their turns first" in reported())
        assert "AwaitingEviction" in reported()
        (one,) = world.objects(EVICTIONREQUESTS)
        await world.client.patch(
            EVICTIONREQUESTS, one["metadata"]["name"], {"spec": {"requesters": []}}, "default"
        )
        await world.until(lambda: active(world) == [BACKUP])
        await world.until(lambda: "have their turns first" not in reported())

    in_world(body, gates=GATES, nodes=0)
