"""A fencing controller that dies at any request: the fence is finished, once, and no identity runs twice."""

from __future__ import annotations

import asyncio
import contextlib
import os

import pytest

from support.simulated.fencing import LOST, Fenced, fenced
from vacate.sim.faults.crashpoints import CrashPoint

pytestmark = [pytest.mark.sim, pytest.mark.timeout(900)]  # a thorough run tries every moment of a crash

# Every so many requests; VACATE_FENCING_CRASHES=1 dies at each one of them.
EVERY = int(os.environ.get("VACATE_FENCING_CRASHES", "23"))
DOWN = 1.0


def run(at: int | None = None, *, after: bool = False) -> range:
    """Lose a node, and kill the controller at a request; the numbers of its requests since it was ready."""
    wire = CrashPoint(at, after=after)
    ready: list[int] = []

    async def body(made: Fenced) -> None:
        async def kill() -> None:
            await wire.tripped.wait()
            await made.world.restart(made.managers[0], DOWN)

        ready.append(wire.count)
        killer = asyncio.ensure_future(kill())
        try:
            await made.policy(powerOn="Automatic")
            await made.pods("db-0")
            made.pool.isolate(LOST)
            await made.replaced(3600.0)
            await made.world.until(lambda: "on" in [action for action, _ in made.agents.calls], 3600.0)
            made.pool.rejoin(LOST)
            await made.world.until(lambda: not made.phase() and not made.released(), 3600.0, "it is back")
        finally:
            if not wire.tripped.is_set():
                killer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await killer
        assert {node for _, node in made.agents.calls} == {LOST}

    fenced(body, around=wire.around)
    return range(ready[0] + 1, wire.count + 1)


def test_a_controller_may_die_at_every_request() -> None:
    requests = run()
    assert len(requests) > EVERY
    for number in requests[::EVERY]:
        run(number, after=bool(number % 2))
