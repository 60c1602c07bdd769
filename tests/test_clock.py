"""The machine's clock: a wait never ends before its time, whichever event loop the program runs on."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from vacate.clock import SystemClock

pytestmark = pytest.mark.unit

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,  # its timers count whole milliseconds and may fire one early
}
SPANS = [0.05 + index * 0.000137 for index in range(400)]


async def in_time(wait: Callable[[float], Awaitable[float]]) -> None:
    """All spans at once: `wait` says how much was left when it returned."""
    early = [left for left in await asyncio.gather(*map(wait, SPANS)) if left > 0]
    assert not early, f"{len(early)} of {len(SPANS)} too early, one by {max(early)} s"


@pytest.mark.parametrize("loop", LOOPS)
def test_sleep_never_returns_early(loop: str) -> None:
    clock = SystemClock()

    async def wait(span: float) -> float:
        end = clock.monotonic() + span
        await clock.sleep(span)
        return end - clock.monotonic()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(in_time(wait))


@pytest.mark.parametrize("loop", LOOPS)
def test_sleep_until_never_returns_early(loop: str) -> None:
    clock = SystemClock()

    async def wait(span: float) -> float:
        end = clock.now() + dt.timedelta(seconds=span)
        await clock.sleep_until(end)
        return (end - clock.now()).total_seconds()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(in_time(wait))


def test_a_span_that_is_not_positive_ends_at_once() -> None:
    async def none() -> None:
        async with asyncio.timeout(60):
            for span in (0.0, -1.0, float("-inf")):
                await SystemClock().sleep(span)

    asyncio.run(none())
