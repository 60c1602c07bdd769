"""Replicas of the eviction bridge's webhook in a simulated cluster: each fails and restarts by itself.

The API server's side of it is here too: it sends a review to one replica, waits for two seconds, and lets the
eviction pass where it has no answer by then. What each review came to is kept, for invariants.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import cast

import orjson

from vacate.admission.pods.bridge import BridgeConfig, EvictionReview
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.errors import ApiError, TransportError
from vacate.eviction.registration import resolve
from vacate.metrics import Metrics
from vacate.sim.cluster import World
from vacate.sim.faults.transport import FaultyTransport, RandomPlan, RequestFaultRates
from vacate.webhook.bridgeanswers import BridgeAnswer
from vacate.webhook.bridgehealth import BUSY_SECONDS
from vacate.webhook.evictionbridge import Check, EvictionBridge

REVIEW_SECONDS = 2.0  # of the webhook configuration
DOWN, NO_ANSWER, PASSED, WARNED = 0, 1, 200, 299
"""Beside the codes of refusals: no answer, by a replica that is away or has seen nothing of the cluster yet;
none by one that should have had one; passed; passed with a warning."""


@dataclass(frozen=True)
class Reviewed:
    """One review: who asked for which pod, what the answer was, and whether the pod was ready for it."""

    began: float
    at: float
    caller: str
    pod: str
    uid: str  # of the pod of that name from begin to end; empty where there was none, or another
    answer: int
    prepared: bool  # whether at one moment of the review nothing had to come before the eviction


class Replicas:
    """What the API server asks instead of a bridge of its own."""

    def __init__(self, world: World, count: int, chances: RequestFaultRates) -> None:
        self._world = world
        self._chances = chances
        self._choice = world.sim.stream("which replica")
        self._bridges: list[EvictionBridge | None] = [None] * count
        self._answered: list[float | None] = [None] * count  # when each replica last had an answer
        self.reviewed: list[Reviewed] = []
        self.last_attempts: dict[tuple[str, str], float] = {}  # by user and pod
        for number in range(count):
            self._start(number)

    def serve(self, wait: float) -> None:
        """Answer for the server that runs now."""
        server = self._world.network.server
        assert isinstance(server, ApiServer)
        server.storage.bridge = cast("EvictionBridge", self)
        server.storage.bridge_wait = type(server.storage.bridge_wait)(seconds=wait)

    def _start(self, number: int) -> None:
        name, world = f"webhook-{number}", self._world
        link = world.network.link(name, EVICTION_CONTROLLER)
        plan = RandomPlan(self._chances, world.sim.stream(f"faults of {name}"))
        client = Client(FaultyTransport(link, plan, world.sim.clock), user_agent=name)
        self._bridges[number] = EvictionBridge(client, world.sim.clock, Metrics())

    async def restart(self, number: int, down: float) -> None:
        """Kill a replica: nothing of it reaches anybody; start another after so long."""
        await self.stop(number)
        await self._world.sim.clock.sleep(down)
        self._start(number)

    async def stop(self, number: int) -> None:
        bridge, self._bridges[number] = self._bridges[number], None
        self._answered[number] = None
        if bridge is not None:
            self._world.network.kill(f"webhook-{number}")
            await bridge.aclose()

    async def aclose(self) -> None:
        for number in range(len(self._bridges)):
            await self.stop(number)

    async def answer(self, review: EvictionReview, config: BridgeConfig, check: Check) -> BridgeAnswer:
        """The answer of one replica; TransportError where the API server has none in time."""
        if config.authority.is_controller(review.user):
            return BridgeAnswer()
        number = min(int(self._choice.uniform(0, len(self._bridges))), len(self._bridges) - 1)
        bridge, last = self._bridges[number], self._answered[number]
        look = Look(self._world, review)
        self.last_attempts[review.user.name, review.name] = self._world.sim.loop.time()
        if bridge is None:
            self.reviewed.append(look.reviewed(DOWN))
            raise TransportError("connection refused")
        try:
            async with asyncio.timeout(REVIEW_SECONDS):
                answer = await bridge.answer(review, config, check)
        except (ApiError, TransportError, TimeoutError) as error:
            now = self._world.sim.loop.time()
            lost = self._bridges[number] is not bridge or last is None or now - last > BUSY_SECONDS
            self.reviewed.append(look.reviewed(DOWN if lost else NO_ANSWER))
            raise TransportError(str(error)) from None
        self._answered[number] = self._world.sim.loop.time()
        code = WARNED if answer.warning else PASSED
        self.reviewed.append(look.reviewed(answer.refusal.status_code if answer.refusal else code))
        return answer


class Look:
    """What the stored objects are from the begin of a review to its end, without the bridge's judgement."""

    def __init__(self, world: World, review: EvictionReview) -> None:
        self._world = world
        self._review = review
        self._began = world.sim.loop.time()
        self._written = len(world.server.history)
        self._uid, self._ready = self._now()

    def reviewed(self, answer: int) -> Reviewed:
        """At the end."""
        uid, ready = self._now()
        lasting = uid if uid == self._uid else ""
        prepared = self._ready or ready or self._has_ended_meanwhile()
        now, review = self._world.sim.loop.time(), self._review
        return Reviewed(self._began, now, review.user.name, review.name, lasting, answer, prepared)

    def _now(self) -> tuple[str, bool]:
        review = self._review
        pod = self._world.find(PODS, review.name, review.namespace)
        if pod is None:
            return "", True
        uid = str(pod["metadata"]["uid"])
        if (review.uid and review.uid != uid) or pod["metadata"].get("deletionTimestamp"):
            return uid, True
        names = resolve(pod).interceptors
        request = self._world.find(EVICTIONREQUESTS, uid, review.namespace)
        return uid, not names or _is_done(request or {}, names[0])

    def _has_ended_meanwhile(self) -> bool:
        for _, record in self._world.server.history[self._written :]:
            if record.resource == PODS.resource:
                pod = orjson.loads(record.value)
                ends = record.deleted or "deletionTimestamp" in pod["metadata"]
                if pod["metadata"]["name"] == self._review.name and ends:
                    return True
        return False


def _is_done(request: Obj, last: str) -> bool:
    status = request.get("status", {})
    return bool(status.get("activeInterceptorName") == last and status.get("activeInterceptorCompleted"))
