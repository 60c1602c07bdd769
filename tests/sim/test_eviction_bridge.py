"""Drains through the eviction bridge, with callers, replicas and a manager that fail: what never happens.

Two replicas of the webhook stand before the API server, each with faults of its own on the way to it. Callers
retry as kubectl, Karpenter and the Cluster Autoscaler do, and some stop asking. A StatefulSet creates its
pods again under the same names.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cache

import orjson
import pytest

from support.effort import seeds
from support.simulated.bridge_replicas import DOWN, Replicas
from support.simulated.evictions import A, B, as_interceptor
from support.simulated.statefulsets import is_whole, members
from vacate.api.kinds import EVICTIONREQUESTS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.client.client import Client
from vacate.errors import ApiError, NotFound, TransportError
from vacate.eviction.callers import CALLERS, SUFFIX, callers_of
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.transport import RequestFaultRates
from vacate.sim.run import Sim, run_sim
from vacate.testing import statefulset
from vacate.wire.message import Peer

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

SEEDS = seeds("VACATE_BRIDGE_SEEDS", 4)
REPLICAS, MEMBERS, WAIT = 2, 3, 120.0
FAULTS = RequestFaultRates(delay=0.3, lost=0.02, unanswered=0.02, refused=0.03)
MANAGER_FAULTS = RequestFaultRates(delay=0.3, lost=0.01, unanswered=0.01, refused=0.01, cut=0.02)
SLACK = 60.0  # of a manager that is down or meets faults when a caller's time is over
USERS = ("kubectl", "karpenter", "autoscaler", "interrupted", "interrupted-too")


@dataclass
class Drain:
    """One caller, the pods that it means, and how it asks."""

    user: str
    pods: dict[str, str]  # UIDs by name, as the caller has listed them
    client: Client
    by_uid: bool = False
    every: float = 5.0
    attempts: int = 10_000
    evicted: list[str] = field(default_factory=list)  # names of the pods that count as done

    @property
    def requester(self) -> str:
        return f"{self.user}.{SUFFIX}"

    async def run(self, pause: float) -> None:
        await asyncio.sleep(pause)
        async with asyncio.TaskGroup() as group:
            for name, uid in self.pods.items():
                group.create_task(self._evict(name, uid))

    async def _evict(self, name: str, uid: str) -> None:
        for _ in range(self.attempts):
            try:
                await self.client.evict(name, "default", DeleteOptions(uid=uid if self.by_uid else ""))
                self.evicted.append(name)
                return
            except (ApiError, TransportError) as error:
                if isinstance(error, NotFound) or (self.by_uid and getattr(error, "status_code", 0) == 409):
                    self.evicted.append(name)
                    return
            await asyncio.sleep(self.every)


def drains(world: World) -> list[Drain]:
    """Callers by the way they ask."""
    chance, made = world.sim.stream("drains"), []
    for user in USERS:
        meant = {one["metadata"]["name"]: one["metadata"]["uid"] for one in members(world)}
        drain = Drain(user, meant, world.client_of(user, Peer(user, ("system:masters",))))
        if user == "karpenter":
            drain.by_uid, drain.every = True, 10.0
        if user == "autoscaler":
            drain.every, drain.attempts = 10.0, 12
        if user.startswith("interrupted"):
            drain.attempts = 1 + int(chance.uniform(0, 4))
        made.append(drain)
    return made


async def interceptors(world: World) -> None:
    """Both interceptors: each turn takes its time, heartbeats included, and is then completed."""
    chance = world.sim.stream("interceptors")
    ends: dict[tuple[str, str], float] = {}  # of turns
    while True:
        await world.sim.clock.sleep(2.0)
        for request in world.objects(EVICTIONREQUESTS, "default"):
            status, name = request.get("status", {}), request["metadata"]["name"]
            turn = (name, status.get("activeInterceptorName", ""))
            if not turn[1] or status.get("activeInterceptorCompleted"):
                continue
            now = world.sim.loop.time()
            if now >= ends.setdefault(turn, now + chance.uniform(1.0, 2.0 * WAIT)):
                try:
                    await as_interceptor(world, name, activeInterceptorCompleted=True)
                except ApiError:
                    continue  # the request has changed or gone


async def trouble(world: World, replicas: Replicas, over: asyncio.Event) -> None:
    """Replicas and the manager are killed, now one and now another."""
    chance = world.sim.stream("trouble")
    while not over.is_set():
        await world.sim.clock.sleep(chance.uniform(5.0, 60.0))
        victim, down = int(chance.uniform(0, REPLICAS + 1)), chance.uniform(0.5, 15.0)
        if victim < REPLICAS:
            await replicas.restart(victim, down)
        else:
            await world.restart(world.evictions, down)


def open_requests(world: World) -> list[Obj]:
    def complete(request: Obj) -> bool:
        conditions = request.get("status", {}).get("conditions", [])
        return any(one["type"] == "Complete" for one in conditions)

    return [one for one in world.objects(EVICTIONREQUESTS, "default") if not complete(one)]


async def watch_silent(world: World, replicas: Replicas) -> None:
    """No requester stays for longer than its caller's waiting time allows."""
    while True:
        await world.sim.clock.sleep(10.0)
        now = world.sim.loop.time()
        for request in open_requests(world):
            pod = request["spec"]["target"]["podRef"]["name"]
            for one in request["spec"].get("requesters", []):
                silent = now - replicas.last_attempts[one["name"].removesuffix(f".{SUFFIX}"), pod]
                assert silent < 1.1 * WAIT + SLACK, f"{one['name']} has not asked for {silent:g} s"


def check_history(world: World, replicas: Replicas, callers: list[Drain]) -> None:
    """What the reviews and all that was ever stored must not show."""
    for seen in replicas.reviewed:
        assert seen.prepared or seen.answer in (DOWN, 404, 429), f"past its interceptors: {seen}"
    recorded: dict[tuple[str, str], float] = {}  # when a caller was first recorded for a pod, by its UID
    for at, record in world.server.history:
        if record.resource != EVICTIONREQUESTS.resource:
            continue
        request: Obj = orjson.loads(record.value)
        uid = request["metadata"]["name"]
        for name in callers_of(request["metadata"].get("annotations") or {}):
            recorded.setdefault((name, uid), at)
        for drain in callers:
            pod = request["spec"]["target"]["podRef"]["name"]
            asked = any(one["name"] == drain.requester for one in request["spec"].get("requesters", []))
            if asked and drain.pods[pod] != uid:
                first = recorded.get((drain.requester, drain.pods[pod]))
                assert first is None or first > at, f"{drain.user} asks for another {pod} at {at:g}"
    for seen in replicas.reviewed:
        (drain,) = [one for one in callers if one.user == seen.caller]
        meant = drain.pods[seen.pod]
        another = seen.uid not in ("", meant) and not drain.by_uid
        if another and recorded.get((drain.requester, meant), seen.at) < seen.began:
            assert seen.answer in (DOWN, 404, 429), f"an old drain evicts a new pod: {seen}"


async def drained(sim: Sim) -> tuple[int, int]:
    settings = WorldSettings(
        chances=MANAGER_FAULTS if sim.seed % 2 else RequestFaultRates(), latency=(0.001, 0.02)
    )
    async with World(sim, settings) as world:
        template = {"spec": {"evictionInterceptors": [{"name": B}, {"name": A}]}}
        made = statefulset("db", replicas=MEMBERS, template=template)
        made["spec"]["podManagementPolicy"] = "Parallel"
        await world.client.create(STATEFULSETS, made, "default")
        await world.until(lambda: is_whole(world, MEMBERS))
        replicas = Replicas(world, REPLICAS, FAULTS)
        replicas.serve(WAIT)
        callers, chance = drains(world), sim.stream("begin")
        over = asyncio.Event()
        restarts = sim.loop.create_task(trouble(world, replicas, over))
        background = [
            sim.loop.create_task(one) for one in (interceptors(world), watch_silent(world, replicas))
        ]
        running = [sim.loop.create_task(one.run(chance.uniform(0, 90.0))) for one in callers]
        try:
            async with asyncio.timeout(86400.0):
                await asyncio.gather(*running)
            # All callers are done or have stopped: whatever stands for them goes.
            await sim.clock.sleep(1.1 * WAIT + SLACK)
        finally:
            over.set()
            for task in (*background, *running):
                task.cancel()
            ends = await asyncio.gather(*background, *running, return_exceptions=True)
            await restarts  # one that is cut off would leave half a process behind
            await replicas.aclose()
        for end in ends:
            if isinstance(end, AssertionError):
                raise end
        await world.until(lambda: not open_requests(world), what="no request is open")
        await world.settle()
        check_history(world, replicas, callers)
        left = [one for one in world.objects(EVICTIONREQUESTS) if CALLERS in _annotations(one)]
        assert left == []
        assert sorted(callers[0].evicted) == sorted(callers[1].evicted) == sorted(callers[0].pods)
        refused = sum(seen.answer == 429 for seen in replicas.reviewed)
        return refused, sum(seen.answer == 404 for seen in replicas.reviewed)


def _annotations(obj: Obj) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


@cache
def answers(number: int) -> tuple[int, int]:
    return run_sim(drained, number, limit=7 * 86400.0)


@pytest.mark.parametrize("number", range(SEEDS))
def test_no_drain_goes_past_interceptors_or_evicts_another_pod(number: int) -> None:
    refused, _ = answers(number)
    assert refused > MEMBERS


def test_the_simulation_meets_pods_that_were_created_again() -> None:
    """Else the invariants hold of nothing."""
    assert sum(answers(number)[1] for number in range(2)) > 0
