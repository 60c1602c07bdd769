"""Tells a scenario: the happenings in their order, then calm, then everything must come to its end."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from support.eviction_scenarios.asking import Asking
from support.eviction_scenarios.dice import Dice
from support.eviction_scenarios.people import FINALIZER, TOWN, People
from support.eviction_scenarios.scenario import NODES, Happening, PodPlan, Scenario, draw_scenario
from support.eviction_scenarios.town import Town
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj, dig
from vacate.errors import ApiError, OutOfTime, TransportError
from vacate.sdk.errors import CancellationForbidden
from vacate.sim.run import Sim, make_sim, run_sim

LONGEST_END = 4 * 3600.0
"""Virtual seconds from the calm until all must be over."""
AFTERWARDS = 60.0
CLOSED = 10


@dataclass(frozen=True, slots=True)
class Told:
    """How a story went."""

    breaches: list[str]
    digest: str


def tell(seed: int) -> Told:
    """The story of a seed."""
    drawing = make_sim(seed)
    scenario = draw_scenario(Dice(drawing.stream("scenario")))
    drawing.loop.close()

    async def main(sim: Sim) -> Told:
        town = Town(sim, scenario)
        async with town.world:
            await Story(town).tell()
        return Told(town.judge(), sim.trace.digest)

    return run_sim(main, seed, shuffle=scenario.shuffle, limit=86400.0)


class Story:
    """The director of one scenario."""

    def __init__(self, town: Town) -> None:
        self._town = town
        self._world = town.world
        self._people = People(town.world)
        self._pods = {plan.name: plan for plan in town.scenario.pods}
        self._under_way: list[asyncio.Task[None]] = []
        self._asking: dict[asyncio.Task[None], str] = {}  # programs that want pods gone

    @property
    def _scenario(self) -> Scenario:
        return self._town.scenario

    async def tell(self) -> None:
        """From the beginning to the end."""
        await self._people.settle()
        await self._town.open()
        for plan in self._scenario.pods:
            await self._people.make_pod(plan)
        for happening in self._scenario.happenings:
            await self._world.sim.clock.sleep(happening.at - self._world.sim.loop.time())
            await self._happen(happening)
        await self._world.sim.clock.sleep(self._scenario.length - self._world.sim.loop.time())
        await self._calm()
        await self._end()

    async def _happen(self, one: Happening) -> None:
        self._world.check()
        self._world.sim.trace.add("happening", one)
        with contextlib.suppress(ApiError, TransportError, CancellationForbidden):
            await self._do(one)

    async def _do(self, one: Happening) -> None:
        match one.what:
            case "crash" | "cut" | "crash server" | "crash node":
                self._begin(one)
            case "open budget":
                await self._people.budget(0)
            case "close budget":
                await self._people.budget(CLOSED)
            case "delete namespace":
                await self._people.delete_namespace()
            case "ask by sdk":
                self._ask(one)
            case "withdraw by sdk":
                await self._town.requesters[one.by].withdraw(one.who, TOWN)
            case "insist":
                self._insist(one)
            case "make pod":
                await self._people.make_pod(self._pods[one.who])
            case _:
                await getattr(self._people, one.what.replace(" ", "_"))(self._pods[one.who], one.by)

    def _ask(self, one: Happening) -> None:
        plan = self._pods[one.who]
        program = Asking(self._town.requesters[one.by], plan).ask()
        self._asking[asyncio.get_running_loop().create_task(program)] = f"{one.by} asks for {one.who}"

    def _insist(self, one: Happening) -> None:
        plan = self._pods[one.who]
        program = Asking(self._town.requesters[one.by], plan).insist()
        self._asking[asyncio.get_running_loop().create_task(program)] = f"{one.by} insists on {one.who}"

    def _begin(self, one: Happening) -> None:
        """Trouble lasts for a while, beside everything else."""
        name = f"{one.what} {one.who}"
        self._under_way.append(asyncio.get_running_loop().create_task(self._trouble(one), name=name))

    async def _trouble(self, one: Happening) -> None:
        clock = self._world.sim.clock
        match one.what:
            case "crash":
                await self._town.crash(one.who, one.seconds)
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
        """Troubles end, budgets open, and what only people can end they end."""
        self._town.calm()
        if self._under_way:
            await asyncio.wait(self._under_way)
            for task in self._under_way:
                task.result()
        for name in NODES:
            self._world.pool.start(name)
        self._town.calm()
        with contextlib.suppress(ApiError):
            await self._people.budget(0)
        for plan in self._scenario.pods:
            with contextlib.suppress(ApiError):
                await self._let_go(plan)

    async def _let_go(self, plan: PodPlan) -> None:
        if plan.finalizer:
            await self._people.release_pod(plan, "")
        if plan.daemon:
            await self._people.delete_pod(plan, "")

    async def _end(self) -> None:
        """Whatever was asked for and not cancelled comes to its end."""
        try:
            await self._world.until(self._all_over, timeout=LONGEST_END)
        except OutOfTime:
            self._town.told += [f"still open at the end: {_tell(one)}" for one in self._open()]
        await self._world.sim.clock.sleep(AFTERWARDS)
        self._town.told += [f"in vain: {who}" for task, who in self._asking.items() if not task.done()]
        await self._dismiss()

    async def _dismiss(self) -> None:
        for task in self._asking:
            task.cancel()
        for task in self._asking:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _all_over(self) -> bool:
        asking = not all(task.done() for task in self._asking)
        return (
            not asking and not self._open() and not any(_held(pod) for pod in self._world.objects(PODS, TOWN))
        )

    def _open(self) -> list[Obj]:
        return [one for one in self._world.objects(EVICTIONREQUESTS, TOWN) if not _complete(one)]


def _complete(request: Obj) -> bool:
    conditions = dig(request, "status", "conditions") or ()
    return any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)


def _held(pod: Obj) -> bool:
    meta = pod["metadata"]
    return bool(meta.get("deletionTimestamp")) and FINALIZER not in (meta.get("finalizers") or ())


def _tell(request: Obj) -> str:
    return f"{request['spec']['target']['podRef']['name']}: {request.get('status')}"
