"""Runs a scenario: its events in order, then no more faults, then everything must come to its end."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace

from support.eviction_scenarios.cluster import ScenarioCluster
from support.eviction_scenarios.draws import Draws
from support.eviction_scenarios.requests import PodRequest
from support.eviction_scenarios.scenario import (
    NODES,
    PodPlan,
    Scenario,
    ScenarioEvent,
    draw_apis,
    draw_scenario,
)
from support.eviction_scenarios.users import FINALIZER, NAMESPACE, Users
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj, dig
from vacate.errors import ApiError, OutOfTime, TransportError
from vacate.sdk.errors import CancellationForbidden
from vacate.sim.run import Sim, make_sim, run_sim

MAX_SCENARIO_SECONDS = 4 * 3600.0
"""Virtual seconds from the calm until all must be over."""
AFTERWARDS = 60.0
CLOSED = 10


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """How a scenario went."""

    breaches: list[str]
    digest: str


def run_seed(seed: int, *, mixed: bool = False) -> ScenarioResult:
    """Run the scenario of a seed; where it is mixed, some ask by Evacuations, for the same pods."""
    drawing = make_sim(seed)
    scenario = draw_scenario(Draws(drawing.stream("scenario")))
    if mixed:
        scenario = replace(scenario, apis=draw_apis(Draws(drawing.stream("apis"))))
    drawing.loop.close()

    async def main(sim: Sim) -> ScenarioResult:
        cluster = ScenarioCluster(sim, scenario)
        async with cluster.world:
            await ScenarioRunner(cluster).run()
        return ScenarioResult(cluster.breaches(), sim.trace.digest)

    return run_sim(main, seed, shuffle=scenario.shuffle, limit=86400.0)


class ScenarioRunner:
    """Runs one scenario."""

    def __init__(self, cluster: ScenarioCluster) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._users = Users(cluster.world, cluster.scenario.apis)
        self._pods = {plan.name: plan for plan in cluster.scenario.pods}
        self._under_way: list[asyncio.Task[None]] = []
        self._requests: dict[asyncio.Task[None], str] = {}  # programs that want pods gone

    @property
    def _scenario(self) -> Scenario:
        return self._cluster.scenario

    async def run(self) -> None:
        """From the beginning to the end."""
        await self._users.settle()
        await self._cluster.open()
        for plan in self._scenario.pods:
            await self._users.make_pod(plan)
        for event in self._scenario.events:
            await self._world.sim.clock.sleep(event.at - self._world.sim.loop.time())
            await self._apply(event)
        await self._world.sim.clock.sleep(self._scenario.length - self._world.sim.loop.time())
        await self._calm()
        await self._end()

    async def _apply(self, one: ScenarioEvent) -> None:
        self._world.check()
        self._world.sim.trace.add("event", one)
        with contextlib.suppress(ApiError, TransportError, CancellationForbidden):
            await self._do(one)

    async def _do(self, one: ScenarioEvent) -> None:
        match one.what:
            case "crash" | "cut" | "crash server" | "crash node":
                self._begin(one)
            case "open budget":
                await self._users.budget(0)
            case "close budget":
                await self._users.budget(CLOSED)
            case "delete namespace":
                await self._users.delete_namespace()
            case "ask by sdk":
                self._ask(one)
            case "withdraw by sdk":
                await self._cluster.requesters[one.by].withdraw(one.who, NAMESPACE)
            case "keep requested":
                self._keep_requested(one)
            case "make pod":
                await self._users.make_pod(self._pods[one.who])
            case _:
                await getattr(self._users, one.what.replace(" ", "_"))(self._pods[one.who], one.by)

    def _ask(self, one: ScenarioEvent) -> None:
        plan = self._pods[one.who]
        program = PodRequest(self._cluster.requesters[one.by], plan).ask()
        self._requests[asyncio.get_running_loop().create_task(program)] = f"{one.by} asks for {one.who}"

    def _keep_requested(self, one: ScenarioEvent) -> None:
        plan = self._pods[one.who]
        program = PodRequest(self._cluster.requesters[one.by], plan).keep_requested()
        self._requests[asyncio.get_running_loop().create_task(program)] = (
            f"{one.by} keeps {one.who} requested"
        )

    def _begin(self, one: ScenarioEvent) -> None:
        """Trouble lasts for a while, beside everything else."""
        name = f"{one.what} {one.who}"
        self._under_way.append(asyncio.get_running_loop().create_task(self._trouble(one), name=name))

    async def _trouble(self, one: ScenarioEvent) -> None:
        clock = self._world.sim.clock
        match one.what:
            case "crash":
                await self._cluster.crash(one.who, one.seconds)
            case "cut":
                self._world.network.cut(one.who)
                await clock.sleep(one.seconds)
                self._world.network.mend(one.who)
            case "crash server" if self._world.server.up:
                await self._world.restart_server(min(one.seconds, 60.0))
            case "crash node":
                self._world.pool.crash(one.who)
                await clock.sleep(one.seconds)
                self._world.pool.start(one.who)

    async def _calm(self) -> None:
        """Faults end, budgets open, and what only users can end they end."""
        self._cluster.calm()
        if self._under_way:
            await asyncio.wait(self._under_way)
            for task in self._under_way:
                task.result()
        for name in NODES:
            self._world.pool.start(name)
        self._cluster.calm()
        with contextlib.suppress(ApiError):
            await self._users.budget(0)
        for plan in self._scenario.pods:
            with contextlib.suppress(ApiError):
                await self._let_go(plan)

    async def _let_go(self, plan: PodPlan) -> None:
        if plan.finalizer:
            await self._users.release_pod(plan, "")
        if plan.daemon:
            await self._users.delete_pod(plan, "")
        await self._users.release_request(plan, "")

    async def _end(self) -> None:
        """Whatever was asked for and not cancelled comes to its end."""
        try:
            await self._world.until(self._all_over, timeout=MAX_SCENARIO_SECONDS)
        except OutOfTime:
            self._cluster.problems += [f"still open at the end: {_described(one)}" for one in self._open()]
        await self._world.sim.clock.sleep(AFTERWARDS)
        self._cluster.problems += [
            f"in vain: {who}" for task, who in self._requests.items() if not task.done()
        ]
        await self._dismiss()

    async def _dismiss(self) -> None:
        for task in self._requests:
            task.cancel()
        for task in self._requests:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _all_over(self) -> bool:
        requests = not all(task.done() for task in self._requests)
        return (
            not requests
            and not self._open()
            and not any(_held(pod) for pod in self._world.objects(PODS, NAMESPACE))
        )

    def _open(self) -> list[Obj]:
        found = [one for one in self._world.objects(EVICTIONREQUESTS, NAMESPACE) if not _complete(one)]
        # What is over of these is removed, unless it is deleted and waits for its instigators.
        return found + [one for one in self._world.objects(EVACUATIONS, NAMESPACE) if not _is_held(one)]


def _is_held(evacuation: Obj) -> bool:
    meta = evacuation["metadata"]
    return _complete(evacuation) and bool(meta.get("deletionTimestamp") and meta.get("finalizers"))


def _complete(request: Obj) -> bool:
    conditions = dig(request, "status", "conditions") or ()
    return any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)


def _held(pod: Obj) -> bool:
    meta = pod["metadata"]
    return bool(meta.get("deletionTimestamp")) and FINALIZER not in (meta.get("finalizers") or ())


def _described(request: Obj) -> str:
    return f"{request['kind']} {request['metadata']['name']}: {request.get('status')}"
