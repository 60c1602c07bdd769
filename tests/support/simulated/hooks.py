"""A service that is a hook, in virtual time, and objects for tests of hooks in a simulated cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import HOOKS
from vacate.entropy import Entropy
from vacate.features import FeatureGates
from vacate.httpclient.service import Answer, CallFailed
from vacate.interceptors.hooks.annotations import HttpHook
from vacate.interceptors.hooks.targets import AllowList, Target
from vacate.sim.cluster import World
from vacate.sim.process import Process
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.hooks import hook_controllers

ALLOWED = AllowList(
    {
        "flush": Target("flush", "https://flush.svc/hook", ("default",), allow_paths=True, timeout=600),
        "other": Target("other", "https://other.svc/hook", ("elsewhere",)),
    }
)


@dataclass
class Work:
    """What the service knows of one idempotency key."""

    pod: str
    begun: float
    cancelled: bool = False
    answered: bool = False  # whether it has reported that it is done
    calls: int = 0


@dataclass
class SimulatedService:
    """Works on each key for so many seconds, once, however often it is called; its answers may be lost."""

    clock: Clock
    entropy: Entropy
    seconds: float = 30.0
    fails: float = 0.0  # the share of calls without an answer, half of which arrive
    status: int = 0  # answers with it instead
    works: dict[str, Work] = field(default_factory=dict)
    causes: list[str] = field(default_factory=list)
    open_calls: int = 0
    most_calls: int = 0

    async def call(self, hook: HttpHook, body: Mapping[str, Any]) -> Answer:
        """One call, over a network that takes its time."""
        self.open_calls += 1
        self.most_calls = max(self.most_calls, self.open_calls)
        try:
            await self.clock.sleep(self.entropy.uniform(0.01, 0.5))
            lost = self.entropy.uniform(0.0, 1.0) < self.fails
            if lost and self.entropy.uniform(0.0, 1.0) < 0.5:
                raise CallFailed("connection refused")
            answer = self._answer(body)
            await self.clock.sleep(self.entropy.uniform(0.01, 0.5))
            if lost:
                raise CallFailed("no answer within 15 s")
        finally:
            self.open_calls -= 1
        return answer

    def _answer(self, body: Mapping[str, Any]) -> Answer:
        if self.status:
            return Answer(self.status, b"as configured")
        now, key = self.clock.monotonic(), body["idempotencyKey"]
        work = self.works.setdefault(key, Work(body["pod"]["name"], now))
        work.calls += 1
        assert work.pod == body["pod"]["name"]
        if body["action"] == "Cancel":
            work.cancelled = True
            self.causes.append(body["cause"])
            return Answer(200)
        assert not work.cancelled
        left = work.begun + self.seconds - now
        if left <= 0:
            work.answered = True
            return Answer(200, b'{"message": "flushed"}')
        percent = 100 - 100 * left / self.seconds
        return Answer(202, orjson.dumps({"message": "flushing", "percent": percent, "retryAfterSeconds": 5}))


async def serving(
    world: World, service: SimulatedService, allowed: AllowList = ALLOWED, gates: FeatureGates | None = None
) -> Process:
    """The hooks process, under the identity that an embedded cluster gives it."""

    def build(link: Transport, around: ComponentContext) -> Any:
        rows = hook_controllers(lambda: allowed, gates or FeatureGates(), service)
        return component_manager(link, "vacate-hooks", rows, around, PROJECTIONS)

    return await world.start("hooks", build, HOOKS)


def service_of(world: World, **options: Any) -> SimulatedService:
    return SimulatedService(world.sim.clock, world.sim.stream("service"), **options)
