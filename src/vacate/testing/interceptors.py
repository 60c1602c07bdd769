"""Tests of interceptors without a cluster: a whole one is simulated in this process, in virtual time.

    from vacate.testing import simulate_eviction

    def test_the_database_is_backed_up() -> None:
        eviction = simulate_eviction(back_up, labels={"app": "db"})
        assert eviction.result is TurnResult.COMPLETED
        assert eviction.messages == ("Backing up",)

API server, admission, controller and node are those of the embedded cluster; time and network are simulated.
`asyncio.sleep` and the context's clock return at once: an hour's work takes a second.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vacate.api.kinds import EVENTS, EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj, dig
from vacate.api.types.evictionrequest import EvictionRequest, RequestCondition
from vacate.client.codec import loads
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.errors import ConfigError
from vacate.runtime.manager import Manager
from vacate.sdk import Interceptor, PastTurn, Requester, Result, TurnResult, interceptor_controllers
from vacate.sdk.arguments import checked_span
from vacate.sdk.interceptors.program import check_interceptors
from vacate.sdk.sync.interceptors import is_threaded
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.process import Process
from vacate.sim.run import Sim, run_sim
from vacate.testing.builders import pod as build_pod
from vacate.wiring.components import Environment, component_dependencies

DAY = dt.timedelta(days=1)
_NAMESPACE, _POD = "default", "pod-1"
_NO_LABELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class SimulatedEviction:
    """What came of an eviction."""

    history: tuple[PastTurn, ...]  # each interceptor's turn, in the order of their turns
    messages: tuple[str, ...]  # what the request's message was, one after the other, by whomever
    conditions: Mapping[str, RequestCondition]  # by their type, as they were at the end
    events: tuple[Obj, ...]  # about the request and the pod
    took: dt.timedelta  # from the request to its end
    pod_is_gone: bool
    request: EvictionRequest | None  # as it was last seen

    @property
    def result(self) -> TurnResult:
        """How the first interceptor's turn ended."""
        if not self.history:
            raise ConfigError("no interceptor had a turn")
        return self.history[0].result


def simulate_eviction(
    *interceptors: Interceptor,
    labels: Mapping[str, str] = _NO_LABELS,
    pod: Obj | None = None,
    cancel_after: dt.timedelta | None = None,
    restart_after: dt.timedelta | None = None,
    deadline_seconds: int | None = None,
    within: dt.timedelta = DAY,
    seed: int = 0,
) -> SimulatedEviction:
    """Evict a pod that names these interceptors, the first of them with the first turn; what came of it.

    `labels` are the pod's, or `pod` is the whole of it. `cancel_after` withdraws the request at that time
    after it was made, `restart_after` crashes and starts the program of the interceptors. TimeoutError where
    the request is not over `within` that (virtual) time. The same seed gives the same run.
    """
    check_interceptors(interceptors)
    for what, span in (("cancel_after", cancel_after), ("restart_after", restart_after), ("within", within)):
        checked_span(what, span)
    for one in interceptors:
        if is_threaded(one.handler):
            raise ConfigError(f"{one.name} is a plain function, for which time is real; use `vacate up`")
    _check_loop()
    made = _pod(interceptors, labels, pod)

    async def main(sim: Sim) -> SimulatedEviction:
        async with World(sim, WorldSettings(nodes=1, zones=1)) as world:
            stage = _SimulatedCluster(world, interceptors, made)
            return await stage.run(cancel_after, restart_after, deadline_seconds, within)

    return run_sim(main, seed, limit=(within + DAY).total_seconds())


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigError("simulate_eviction runs a loop of its own: call it from a plain function")


class _SimulatedCluster:
    """The world, the interceptors' program, and the requester."""

    def __init__(self, world: World, interceptors: tuple[Interceptor, ...], pod: Obj) -> None:
        self._world = world
        self._interceptors = interceptors
        self._pod = pod
        self._name, self._namespace = pod["metadata"]["name"], pod["metadata"].get("namespace", _NAMESPACE)

    async def run(
        self,
        cancel_after: dt.timedelta | None,
        restart_after: dt.timedelta | None,
        deadline_seconds: int | None,
        within: dt.timedelta,
    ) -> SimulatedEviction:
        world, clock = self._world, self._world.sim.clock
        await world.client.create(PODS, self._pod)
        await world.until(lambda: dig(self._found() or {}, "status", "phase") == "Running", 600)
        process = Process("interceptors", world.network, self._build)
        await process.start()
        requester = Requester(
            world.client_of("requester"),
            "test.vacate.dev",
            clock=clock,
            entropy=world.sim.stream("requester"),
        )
        began = clock.now()
        request = await requester.request(self._name, self._namespace, deadline_seconds=deadline_seconds)
        tasks = [
            asyncio.ensure_future(self._later(span, act))
            for span, act in (
                (cancel_after, lambda: requester.withdraw(request)),
                (restart_after, lambda: self._restart(process)),
            )
            if span is not None
        ]
        try:
            result = await requester.wait(request, timeout=within)
            took = clock.now() - began
            await clock.sleep(60)  # handlers clean up, events are written
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            process.check()
            await process.crash()
        return self._ended(request, result, took)

    async def _later(self, span: dt.timedelta, act: Any) -> None:
        await self._world.sim.clock.sleep(span.total_seconds())
        await act()

    @staticmethod
    async def _restart(process: Process) -> None:
        await process.crash()
        await process.start()

    def _build(self) -> Manager:
        sim = self._world.sim
        around = Environment(sim.clock, sim.stream("interceptors"), self._world.server.metrics)
        deps, recorder = component_dependencies(
            self._world.network.link("interceptors", ADMIN), "interceptors", around
        )
        return Manager(
            deps.informers, interceptor_controllers(deps, self._interceptors), runnables=[recorder]
        )

    def _found(self) -> Obj | None:
        return self._world.find(PODS, self._name, self._namespace)

    def _ended(self, request: EvictionRequest, result: Result, took: dt.timedelta) -> SimulatedEviction:
        last = result.request or request
        about = (request.metadata.name, self._name)
        events = [one for one in self._world.objects(EVENTS) if one["involvedObject"]["name"] in about]
        return SimulatedEviction(
            history=result.history,
            messages=tuple(self._messages(request.metadata.uid)),
            conditions={one.type: one for one in last.status.conditions},
            events=tuple(events),
            took=took,
            pod_is_gone=self._found() is None,
            request=result.request,
        )

    def _messages(self, uid: str) -> list[str]:
        """Every message that the request ever had, read from the store's log."""
        messages: list[str] = []
        for record in self._world.server.log.records.values():
            if record.resource != EVICTIONREQUESTS.resource or not record.value:
                continue
            obj = loads(bytes(record.value))
            message = str(dig(obj, "status", "message") or "")
            if obj["metadata"]["uid"] == uid and message and messages[-1:] != [message]:
                messages.append(message)
        return messages


def _pod(interceptors: tuple[Interceptor, ...], labels: Mapping[str, str], given: Obj | None) -> Obj:
    made = given if given is not None else build_pod(_POD, namespace=_NAMESPACE, labels=labels)
    spec = {"evictionInterceptors": [{"name": one.name} for one in reversed(interceptors)], **made["spec"]}
    return {**made, "spec": spec}
