"""A simulated cluster with interceptors and requesters on stage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from support.simulated.clusters import in_world
from vacate.api.kinds import EVENTS, EVICTIONREQUESTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj, dig
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.codec import codec_for, loads
from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.timings import PodTimings
from vacate.runtime.manager import Manager
from vacate.sdk import EvictionContext, Interceptor, Requester, interceptor_controllers
from vacate.sim.cluster import World
from vacate.sim.process import Process
from vacate.testing import pdb, pod
from vacate.wiring.components import Environment, component_dependencies

QUICK_PODS = NodeSettings(timings=PodTimings(start=0.1, ready=0.1, stop=1))


class SdkCluster:
    """The world, and words for what happens in it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.clock = world.sim.clock
        self._programs: list[Process] = []

    async def pod(self, name: str = "web", *interceptors: str, **overrides: Any) -> Obj:
        """A running pod with these interceptors, the last of which has the first turn."""
        spec = {"evictionInterceptors": [{"name": one} for one in interceptors]} if interceptors else {}
        spec |= overrides.pop("spec", {})
        await self.world.client.create(PODS, pod(name, spec=spec, labels={"app": name}, **overrides))
        await self.world.until(lambda: dig(self.find_pod(name), "status", "phase") == "Running")
        return self.find_pod(name)

    async def budget(self, name: str, *, min_available: int = 1) -> None:
        """A budget that the disruption controller has looked at."""
        made = pdb(name, min_available=min_available, spec={"selector": {"matchLabels": {"app": name}}})
        await self.world.client.create(PODDISRUPTIONBUDGETS, made)
        await self.world.until(
            lambda: dig(self.world.find(PODDISRUPTIONBUDGETS, name, "default"), "status", "expectedPods")
        )

    async def program(
        self, *interceptors: Interceptor, name: str = "interceptors", clock: Clock | None = None,
        through: Callable[[Transport], Transport] = lambda link: link,
    ) -> Process:  # fmt: skip
        """A process that runs the interceptors; crash, stop and start it at will."""
        sim = self.world.sim

        def build() -> Manager:
            around = Environment(clock or sim.clock, sim.stream(name), self.world.server.metrics)
            link = through(self.world.network.link(name, ADMIN))
            deps, recorder = component_dependencies(link, name, around)
            return Manager(deps.informers, interceptor_controllers(deps, interceptors), runnables=[recorder])

        process = Process(name, self.world.network, build)
        self._programs.append(process)
        await process.start()
        return process

    def requester(self, name: str = "drain.example.com") -> Requester:
        sim = self.world.sim
        client = self.world.client_of(name)
        return Requester(client, name, clock=sim.clock, entropy=sim.stream(name))

    def find_pod(self, name: str) -> Obj:
        return self.world.find(PODS, name, "default") or {}

    def requests(self) -> list[EvictionRequest]:
        """All requests, read past the API."""
        return [as_request(one) for one in self.world.objects(EVICTIONREQUESTS)]

    @property
    def request(self) -> EvictionRequest:
        """The only request that there is."""
        (found,) = self.requests()
        return found

    def events(self, reason: str = "") -> list[Obj]:
        return [one for one in self.world.objects(EVENTS) if reason in ("", one["reason"])]

    async def until(self, condition: Callable[[], object], timeout: float = 600.0) -> None:
        await self.world.until(condition, timeout)

    async def until_active(self, name: str) -> None:
        """Return when it is the interceptor's turn."""
        await self.until(lambda: any(r.status.active_interceptor_name == name for r in self.requests()), 7200)

    async def until_complete(self, timeout: float = 7200.0) -> EvictionRequest:
        """The request when it is over; it goes with its pod, so it must be read in time."""
        await self.until(lambda: all(one.complete for one in self.requests()), timeout)
        return self.request

    async def end(self) -> None:
        for process in self._programs:
            process.check()
            await process.crash()


def as_request(obj: Obj) -> EvictionRequest:
    import msgspec

    return codec_for(EvictionRequest).decode(msgspec.json.encode(obj))


def writes(world: World, resource: str) -> list[Obj]:
    """Every stored state of a kind's objects, in the order of their writing."""
    records = world.server.log.records.values()
    return [loads(bytes(one.value)) for one in records if one.resource == resource and one.value]


def in_sdk_cluster(body: Callable[[SdkCluster], Awaitable[None]], seed: int = 0, **settings: Any) -> str:
    """Run the body in a fresh world with quick pods."""

    async def run(world: World) -> None:
        stage = SdkCluster(world)
        try:
            await body(stage)
        finally:
            await stage.end()

    return in_world(run, seed, **{"node": QUICK_PODS, "nodes": 1, "zones": 1, **settings})


def names(requests: Sequence[EvictionRequest]) -> list[str]:
    return [one.metadata.name for one in requests]


class RecordingHandler:
    """A handler that works for an hour, and what it went through."""

    def __init__(self, clean_up: float = 0.0) -> None:
        self.lines: list[str] = []
        self._clean_up = clean_up

    async def __call__(self, turn: EvictionContext) -> None:
        self.lines.append("resumed" if turn.resumed else "began")
        try:
            await turn.report("Working")
            await turn.clock.sleep(3600)
        except asyncio.CancelledError:
            assert turn.end_reason is not None
            await turn.clock.sleep(self._clean_up)
            self.lines.append(turn.end_reason.name)
            raise
        self.lines.append("ended")
