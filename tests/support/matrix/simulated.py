"""The matrix in virtual time, with faults by seed: parts that crash, an API server that is away, requests and
watches that go wrong, until the cause is removed."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from support.matrix.place import Place, Refusal
from support.matrix.table import BY_NAME, CASES, Case, nothing, run_case
from vacate.api.kinds import NODEMAINTENANCES, NODES
from vacate.api.objects import encode
from vacate.api.status import to_status
from vacate.embedded.apiserver.inprocess import Handler
from vacate.errors import ApiError, Forbidden, InternalError, Invalid, OutOfTime, VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.model import Limits
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.plan import FaultPlan, FaultRates
from vacate.sim.process import Process
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request, Response

T = TypeVar("T")
MANAGER = "evictions"
"""The name of the link by which Vacate's own controllers speak to the API server."""

GATES = parse_feature_gates("EvacuationAPI=true,LifecycleAPI=true")
RATES = FaultRates(requests=0.1, watches=0.2, delay=3.0, lag=10.0, late=10.0)


ACCOUNT = "system:serviceaccount:vacate-system:vacate-manager"
HELD_SECONDS = 700.0
"""How long a cause lasts without faults: by then the pauses between tries that a watch is to end are long."""


class Refusals:
    """Stands before the server and refuses what a policy, a webhook, a quota or a missing right would."""

    def __init__(self) -> None:
        self.active: list[Refusal] = []
        self.links: tuple[str, ...] = (MANAGER,)  # whose requests are refused

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer, unless it would not come to it."""
        for one in self.active:
            if link in ((one.link,) if one.link else self.links) and _meets(one, request):
                error = _error(one)
                return Response(error.status_code, encode(to_status(error)))
        return await server.handle(request)


def _meets(one: Refusal, request: Request) -> bool:
    parts = request.path.strip("/").split("/")
    where = parts.index(one.kind.plural) if one.kind.plural in parts else -1
    rest = parts[where + 1 :]
    subresource = rest[1] if len(rest) > 1 else ""
    return where >= 0 and request.method == one.method and subresource == one.subresource


def _error(one: Refusal) -> ApiError:
    """In the words of kube-apiserver 1.36."""
    what = f'{one.kind.resource} "x" is forbidden: '
    return {
        "policy": Invalid(
            f"{what}ValidatingAdmissionPolicy 'company' with binding 'company' denied request: not now"
        ),
        "webhook": ApiError('admission webhook "company.example.com" denied the request: no', code=409),
        "away": InternalError(
            'Internal error occurred: failed calling webhook "requests.vacate.dev": failed to call webhook: '
            "dial tcp 10.0.0.1:443: connect: connection refused"
        ),
        "quota": Forbidden(f"{what}exceeded quota: tight, requested: 1, used: 0, limited: 0"),
        "rights": Forbidden(f'{what}User "{ACCOUNT}" cannot create resource'),
    }[one.by]


class SimulatedPlace(Place):
    """A world of its own."""

    def __init__(self, world: World) -> None:
        super().__init__(world.client, "default", ["node-1", "node-2", "node-3"])
        self.world = world
        self.refusals = Refusals()
        world.network.audit = self.refusals

    async def until(self, look: Callable[[], Awaitable[T | None]], what: str, seconds: float) -> T:
        """Look every 100 ms of virtual time."""
        end = self.now() + seconds
        while not (found := await look()):
            if self.now() >= end:
                shown = self.world.find(NODEMAINTENANCES, self.drain_name) or {}
                raise OutOfTime(f"{what}: not within {seconds:g} s; {shown.get('status')}")
            await self.world.sim.clock.sleep(0.1)
            self.world.check()
        return found

    async def check_progress(
        self, what: str, since: dt.datetime, removed: dt.datetime, seconds: float
    ) -> None:
        """Nothing is slow here: that the drain ended in time says it."""

    def now(self) -> float:
        """Virtual seconds."""
        return self.world.sim.loop.time()

    async def refuse(self, refusal: Refusal) -> None:
        """Vacate's controllers are refused this; its own users are not."""
        self.refusals.active.append(refusal)

    async def stop(self, part: str) -> None:
        """The manager, the API server, or the node that is drained."""
        if part == "manager":
            await self.world.evictions.crash()
        elif part == "server":
            await self.world.server.crash()
        else:
            self.world.pool.crash(self.node)

    async def start(self, part: str) -> None:
        """It is back."""
        if part == "manager":
            await self.world.evictions.start()
        elif part == "server":
            await self.world.server.start()
        else:
            self.world.pool.start(self.node)

    async def allow(self) -> None:
        """Nothing is refused any more."""
        self.refusals.active.clear()


def run_plain(
    case: Case, dialect: Dialect = EVICTION_REQUEST, *, held: float = HELD_SECONDS, restarted: bool = False
) -> float:
    """A case without faults; the seconds from the removal of its cause until the drain has ended.

    The cause is removed so many seconds after it was reported. Where it is restarted, so are manager and
    controllers shortly before that: what they were told of the cause, and of what has changed meanwhile, they
    must not need.
    """

    async def main(sim: Sim) -> float:
        async with World(sim, WorldSettings(gates=GATES, limits=case.limits)) as world:
            place = SimulatedPlace(world)
            place.dialect = dialect

            async def pause() -> None:
                await sim.clock.sleep(held)
                if restarted and not case.takes_away:
                    both = (world.controllers, world.evictions)
                    for process in both:
                        await process.crash()
                    await sim.clock.sleep(2.0)
                    for process in both:
                        await process.start()
                    await sim.clock.sleep(5.0)

            return await run_case(place, case, pause)

    return run_sim(main, limit=86400.0)


@dataclass(frozen=True, slots=True)
class SeedOutcome:
    """How a seed went."""

    case: str
    kind: str = ""  # of the requests
    problem: str = ""
    seconds: float = 0.0


class Trouble:
    """What goes wrong in a seed until the cause is removed, drawn from it."""

    def __init__(self, sim: Sim) -> None:
        self._sim = sim
        self._draw = sim.stream("trouble")
        self._watches = self._draw.uniform(0, 1) < 0.5
        self._plans: list[FaultPlan] = []
        self._requests = self._draw.uniform(0, 1) < 0.7

    def settings(self, limits: Limits) -> WorldSettings:
        """A world in which requests and watches of all parts may go wrong."""

        def plan(name: str) -> FaultPlan:
            rates = replace(
                RATES,
                requests=RATES.requests if self._requests else 0.0,
                watches=RATES.watches if self._watches else 0.0,
            )
            made = FaultPlan(rates, self._sim.stream(f"faults of {name} {len(self._plans)}"))
            self._plans.append(made)
            return made

        return WorldSettings(gates=GATES, plans=plan, limits=limits)

    @property
    def allowance(self) -> float:
        """Seconds more than without faults. A watch that fell silent is asked for anew after ten minutes."""
        return 900.0 if self._watches else 60.0

    async def disturb(self, world: World) -> None:
        """Crash the manager, its neighbours and the API server, each at a random moment or not at all."""
        async with asyncio.TaskGroup() as group:
            for process in (world.evictions, world.controllers):
                if self._draw.uniform(0, 1) < 0.4:
                    group.create_task(self._restart(world, process))
            if self._draw.uniform(0, 1) < 0.3:
                group.create_task(self._restart_server(world))

    async def _restart(self, world: World, process: Process) -> None:
        await self._sim.clock.sleep(self._draw.uniform(0, 60))
        await world.restart(process, self._draw.uniform(0.1, 60))

    async def _restart_server(self, world: World) -> None:
        await self._sim.clock.sleep(self._draw.uniform(0, 60))
        await world.restart_server(self._draw.uniform(0.1, 60))

    def end(self) -> None:
        """From now on nothing goes wrong any more."""
        for plan in self._plans:
            plan.active = False


LATEST = 3.0
"""Seconds after the beginning of a drain until which a cause appears: most pods are gone by then."""


def run_seed(seed: int, name: str = "", kind: str = "") -> SeedOutcome:
    """One case, its cause appearing and removed at random moments, with the faults of the seed until then.

    The seed chooses case and kind of requests, unless they are named: so a failure can be repeated when cases
    are added.
    """
    case = BY_NAME[name] if name else CASES[seed % len(CASES)]
    kinds = [one for one in case.request_kinds if kind in ("", one.request_kind)]
    dialect = kinds[seed // len(CASES) % len(kinds)]

    async def main(sim: Sim) -> SeedOutcome:
        trouble = Trouble(sim)
        draw = sim.stream("moments")
        async with World(sim, trouble.settings(case.limits)) as world:
            place = SimulatedPlace(world)
            place.dialect = dialect
            place.setup_seconds = 1200.0  # a watch that falls silent is asked for anew after ten minutes

            await world.until(lambda: len(world.objects(NODES)) == len(place.nodes), place.setup_seconds)

            async def pause() -> None:
                disturbing = None if case.takes_away else sim.loop.create_task(trouble.disturb(world))
                await sim.clock.sleep(draw.uniform(0, 120))
                if disturbing is not None:
                    await disturbing
                trouble.end()

            async def late() -> None:
                await sim.clock.sleep(draw.uniform(0, LATEST))

            is_late = case.given is not nothing and draw.uniform(0, 1) < 0.5
            patient = replace(
                case,
                reports=(),  # what is reported is checked without faults
                event="",
                progress="",
                ends_within=case.ends_within + trouble.allowance,
            )
            made = SeedOutcome(case.name, dialect.request_kind)
            try:
                took = await run_case(place, patient, pause, late if is_late else None)
            except (VacateError, AssertionError, KeyError) as error:
                return replace(made, problem=f"{case.name}: {type(error).__name__}: {error}")
            return replace(made, seconds=took)

    return run_sim(main, seed, limit=86400.0, shuffle=seed % 2 == 1)
