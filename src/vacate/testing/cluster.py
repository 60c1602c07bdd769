"""A simulated cluster for tests: pods, budgets, requesters, and programs of interceptors that can crash.

from vacate.testing import SimulatedCluster, simulate

def test_the_backup_waits_for_the_migration() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.program(migrate)
        backups = await cluster.program(back_up, name="backups")
        await cluster.pod("db", migrate, back_up)
        await cluster.requester().request("db")
        await cluster.until_active(back_up)
        await backups.crash()

    simulate(body)
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from vacate.api.kinds import EVENTS, PODDISRUPTIONBUDGETS, PODS, Kind
from vacate.api.objects import Obj, dig
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.client.codec import codec_for, loads
from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.errors import ConfigError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import dialect_named, served_dialects
from vacate.runtime.manager import Manager
from vacate.sdk import EVICTION_REQUEST, Interceptor, Requester, interceptor_controllers
from vacate.sdk.results import history_of
from vacate.sdk.sync.interceptors import is_threaded
from vacate.sim.cluster import World
from vacate.sim.process import Process
from vacate.testing.builders import pdb
from vacate.testing.builders import pod as build_pod
from vacate.testing.evictions import SimulatedEviction, messages_of
from vacate.testing.kinds import placed
from vacate.wiring.components import ComponentContext, component_dependencies

DAY = dt.timedelta(days=1)
_AFTERWARDS = 60.0
"""Seconds after the end of a request in which handlers clean up and Events are written."""


class SimulatedCluster:
    """A cluster in virtual time, and what tests of interceptors and requesters do in it.

    `world` is the whole simulation, with its server, nodes, controllers and network: each of them can fail.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.clock: Clock = world.sim.clock
        self.client: Client = world.client  # as the administrator

    # What is put into it

    async def create(self, *objects: Obj) -> None:
        """Create objects of any kind that the embedded cluster serves, in this order."""
        for obj in objects:
            kind, namespace = placed(obj)
            await self.client.create(kind, obj, namespace)

    async def pod(self, name: str = "web", *interceptors: Interceptor | str, **overrides: Any) -> Obj:
        """A running pod with `app=<name>` that names these interceptors, in the order of their turns.

        The overrides are those of `vacate.testing.pod`.
        """
        parts = {"labels": {"app": name}, "interceptors": [*map(_name, interceptors)], **overrides}
        return await self.run_pod(build_pod(name, **parts))

    async def run_pod(self, pod: Obj) -> Obj:
        """Create a pod, and return it when it runs."""
        name, namespace = pod["metadata"]["name"], pod["metadata"].get("namespace", "default")
        await self.create(pod)
        await self.until(lambda: dig(self.find_pod(name, namespace), "status", "phase") == "Running")
        return self.find_pod(name, namespace)

    async def budget(self, name: str, *, min_available: int | str = 1) -> None:
        """A PodDisruptionBudget over the pods with `app=<name>`, once its controller has counted them."""
        await self.create(pdb(name, min_available=min_available))
        await self.until(
            lambda: dig(
                self.world.find(PODDISRUPTIONBUDGETS, name, "default") or {}, "status", "expectedPods"
            )
        )

    # Who acts in it

    async def program(
        self,
        *interceptors: Interceptor,
        name: str = "interceptors",
        clock: Clock | None = None,
        wrap_transport: Callable[[Transport], Transport] = lambda link: link,
    ) -> Process:
        """Start a program that serves the interceptors, under a name of its own: `stop`, `crash`, `start` it.

        Another clock is one that is ahead or behind. What wraps the transport can delay, lose or count what
        the program sends.
        """
        check_simulated(*interceptors)
        self._check_served(interceptors)

        def build(link: Transport, around: ComponentContext) -> Manager:
            around = replace(around, clock=clock or around.clock)
            deps, recorder = component_dependencies(wrap_transport(link), name, around)
            return Manager(deps.informers, interceptor_controllers(deps, interceptors), runnables=[recorder])

        return await self.world.start(name, build, ADMIN)

    def requester(self, name: str = "drain.example.com", *, dialect: Dialect = EVICTION_REQUEST) -> Requester:
        """A requester of that name, by either API."""
        client, entropy = self.world.client_of(name), self.world.sim.stream(name)
        return Requester(client, name, clock=self.clock, entropy=entropy, dialect=dialect)

    async def evict(
        self,
        pod: str,
        namespace: str = "default",
        *,
        requester: Requester | None = None,
        deadline_seconds: int | None = None,
        cancel_after: dt.timedelta | None = None,
        within: dt.timedelta = DAY,
    ) -> SimulatedEviction:
        """Request the eviction of a pod, wait for the end of the request, and return what came of it.

        `cancel_after` withdraws the request at that time after it was made. TimeoutError where the request is
        not over `within` that (virtual) time.
        """
        requester, began = requester or self.requester(), self.clock.now()
        request = await requester.request(pod, namespace, deadline_seconds=deadline_seconds)
        async with self.after(cancel_after, lambda: requester.withdraw(request)):
            result = await requester.wait(request, timeout=within)
            took = self.clock.now() - began
            await self.clock.sleep(_AFTERWARDS)
        records = self._records(requester.dialect, request)
        last = records[-1] if records else result.request or request
        return SimulatedEviction(
            history=result.history or history_of(last),
            messages=messages_of(records),
            conditions={one.type: one for one in last.status.conditions},
            events=tuple(one for one in self.events() if _about(one) in (request.metadata.name, pod)),
            took=took,
            pod_is_gone=not self.find_pod(pod, namespace),
            request=result.request,
        )

    def _records(self, dialect: Dialect, request: EvictionRequest) -> list[EvictionRequest]:
        """Every state of the eviction that a request led to: the request's own, where both are one object."""
        found = [dialect.read(codec_for(dialect.wire).convert(one)) for one in self.states(dialect.kind)]
        if request.kind is dialect.kind:
            return [one for one in found if one.metadata.uid == request.metadata.uid]
        return [one for one in found if one.spec.target == request.spec.target]

    @contextlib.asynccontextmanager
    async def after(
        self, span: dt.timedelta | None, act: Callable[[], Awaitable[object]]
    ) -> AsyncIterator[None]:
        """For the length of a block: call `act` once when that time has passed; never where it is None."""

        async def wait_and_act(seconds: float) -> None:
            await self.clock.sleep(seconds)
            await act()

        if span is None:
            yield
            return
        task = asyncio.ensure_future(wait_and_act(span.total_seconds()))
        try:
            yield
            if task.done():
                task.result()
        finally:
            task.cancel()

    # What is in it: read past the API, as the server has committed it

    def find_pod(self, name: str, namespace: str = "default") -> Obj:
        """The pod; empty where it is gone."""
        return self.world.find(PODS, name, namespace) or {}

    def requests(self, dialect: Dialect | None = None) -> list[EvictionRequest]:
        """All requests, or those by one API."""
        dialects = self._dialects if dialect is None else (dialect,)
        return [
            one.read(codec_for(one.wire).convert(obj))
            for one in dialects
            for obj in self.world.objects(one.kind)
        ]

    @property
    def request(self) -> EvictionRequest:
        """The only request that there is."""
        (found,) = self.requests()
        return found

    def events(self, reason: str = "") -> list[Obj]:
        """All Events, or those with the reason."""
        return [one for one in self.world.objects(EVENTS) if reason in ("", one["reason"])]

    def states(self, kind: Kind) -> list[Obj]:
        """Every state of the objects of a kind that was ever stored, in the order of the writes."""
        records = self.world.server.log.records.values()
        return [loads(bytes(one.value)) for one in records if one.resource == kind.resource and one.value]

    # What is waited for

    async def until(self, condition: Callable[[], object], timeout: float = 600.0) -> None:
        """Return when a write has made the condition true; OutOfTime after so many (virtual) seconds."""
        await self.world.until(condition, timeout)

    async def until_active(self, interceptor: Interceptor | str, timeout: float = 7200.0) -> None:
        """Return when it is the interceptor's turn for some request."""
        name = _name(interceptor)
        await self.until(
            lambda: any(one.status.active_interceptor_name == name for one in self.requests()), timeout
        )

    async def until_complete(self, timeout: float = 7200.0) -> EvictionRequest:
        """The only request, when it is over; it goes with its pod, so it must be read in time."""
        await self.until(lambda: all(one.complete for one in self.requests()), timeout)
        return self.request

    @property
    def _dialects(self) -> tuple[Dialect, ...]:
        return served_dialects(self.world.settings.gates)

    def _check_served(self, interceptors: Sequence[Interceptor]) -> None:
        """A program would wait for an API that is not served."""
        served = [one.name for one in self._dialects]
        for one in interceptors:
            for api in one.apis:
                if api not in served:
                    gate = dialect_named(api).kind.gate
                    raise ConfigError(f"{one.name} serves the API {api}: open the feature gate {gate}")


def check_simulated(*interceptors: Interceptor) -> None:
    """Raise ConfigError where an interceptor cannot run in virtual time."""
    for one in interceptors:
        if is_threaded(one.handler):
            raise ConfigError(
                f"{one.name} is a plain function, for which time is real: test it in a running_cluster"
            )


def _name(interceptor: Interceptor | str) -> str:
    return interceptor if isinstance(interceptor, str) else interceptor.name


def _about(event: Obj) -> str:
    return str(event["involvedObject"]["name"])
