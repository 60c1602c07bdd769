"""A world whose manager dies at a chosen request and is started again: what a script leaves behind."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar

from support.effort import crash_points
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.crashpoints import CrashPoint
from vacate.sim.process import Process
from vacate.sim.run import Sim, run_sim
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

T = TypeVar("T")
Script = Callable[[World], Awaitable[T]]
WITHOUT_MANAGER = WorldSettings(evictions=())
"""A world that has no manager but the one that dies."""
_DOWN = 1.0
_SEED = 5
_LIMIT = 86400.0


class Run(Generic[T]):
    """A script with a manager that dies at a request: before it is sent, or after it was carried out."""

    def __init__(
        self,
        script: Script[T],
        at: int | None = None,
        *,
        after: bool = False,
        settings: WorldSettings = WITHOUT_MANAGER,
        wire: CrashPoint | None = None,
    ) -> None:
        self._script, self._settings = script, settings
        self._wire = wire or CrashPoint(at, after=after)

    @property
    def count(self) -> int:
        """How many requests the manager has made, over both of its lives."""
        return self._wire.count

    def play(self) -> T:
        """What the script returns."""
        return run_sim(self._main, _SEED, limit=_LIMIT)

    async def _main(self, sim: Sim) -> T:
        async with World(sim, self._settings) as world:
            manager = world.add("manager", self._build, EVICTION_CONTROLLER)
            async with killed(sim, world, manager, self._wire):
                return await self._script(world)

    def _build(self, link: Transport, around: ComponentContext) -> Any:
        controllers = enabled(around.gates)
        return component_manager(self._wire.around(link), "vacate-manager", controllers, around, PROJECTIONS)


@contextlib.asynccontextmanager
async def killed(sim: Sim, world: World, process: Process, wire: CrashPoint) -> AsyncIterator[None]:
    """Start the process, and start it again after the wire was tripped."""

    async def kill() -> None:
        await wire.tripped.wait()
        await world.restart(process, _DOWN)

    killer = sim.loop.create_task(kill())
    await process.start()
    try:
        yield
    finally:
        if not wire.tripped.is_set():
            killer.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await killer


def die_at_every_request(
    script: Script[T],
    expected: T,
    *,
    after: bool,
    first: int = 1,
    every: int = 1,
    step: int | None = None,
    settings: WorldSettings = WITHOUT_MANAGER,
) -> None:
    """Play the script undisturbed, then with a crash at requests from the first on, in the steps if given."""
    undisturbed = Run(script, settings=settings)
    assert undisturbed.play() == expected
    points = crash_points(undisturbed.count, first=first, every=every)
    for number in points if step is None else range(first, undisturbed.count + 1, step):
        left = Run(script, number, after=after, settings=settings).play()
        assert left == expected, f"request {number} of {undisturbed.count}: {left}"
