"""Run a coroutine as a simulation: virtual time, one seed, and nothing left behind.

    run_sim(main, seed=7)          # main(sim) with sim.clock, sim.entropy, sim.trace, sim.loop

A failure ends with the line that repeats it.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gc
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from vacate.clock import LoopClock
from vacate.entropy import Entropy, seeded_entropy
from vacate.errors import LeftoverTasks, SimulationError
from vacate.sim.loop import SimLoop
from vacate.sim.tasks import describe
from vacate.sim.trace import Trace, TracedEntropy

T = TypeVar("T")

EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
"""Where the virtual wall clock starts, unless another moment is given."""

A_MONTH = 31 * 86400.0


@dataclass(frozen=True, slots=True)
class Sim:
    """What a simulated program is given."""

    loop: SimLoop
    seed: int
    clock: LoopClock
    entropy: Entropy
    trace: Trace

    def stream(self, name: str) -> Entropy:
        """An independent source for one part, so that one more draw here changes nothing there."""
        return TracedEntropy(stream_of(self.seed, name), self.trace, name)

    def skewed_clock(self, seconds: float) -> LoopClock:
        """A clock that is ahead by that much, or behind."""
        return LoopClock(self.loop, self.clock.now(), seconds)


def stream_of(seed: int, name: str) -> Entropy:
    """What the stream of that name draws in a simulation of that seed, for those who want to know before."""
    mixed = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return seeded_entropy(int.from_bytes(mixed))


def run_sim(
    main: Callable[[Sim], Awaitable[T]],
    seed: int = 0,
    *,
    limit: float = A_MONTH,
    shuffle: bool = False,
    keep_trace: bool = False,
    allow_left_behind: bool = False,
    epoch: dt.datetime = EPOCH,
    note: str = "",
) -> T:
    """Run `main(sim)` to its end in virtual time, which begins at `epoch`, and return its value.

    Whatever still runs then is cancelled, and is an error unless it is allowed. An error has a note on how to
    repeat it, by default with this repository's `make test`.
    """
    sim = make_sim(seed, limit=limit, shuffle=shuffle, keep_trace=keep_trace, epoch=epoch)
    with _reproducible(note or reproduction(seed)), _rare_collections(), contextlib.closing(sim.loop):
        try:
            result = sim.loop.run_until_complete(_call(main, sim))
        except BaseException:
            _clean_up(sim.loop)
            raise
        left = _clean_up(sim.loop)
        if left and not allow_left_behind:
            raise LeftoverTasks(left)
        return result


def make_sim(
    seed: int = 0,
    *,
    limit: float = A_MONTH,
    shuffle: bool = False,
    keep_trace: bool = False,
    epoch: dt.datetime = EPOCH,
) -> Sim:
    """A loop, clock, entropy and trace that belong together, for callers that run the loop alone."""
    mixer = seeded_entropy(seed + 1) if shuffle else None
    loop = SimLoop(limit=limit, shuffle=mixer)
    trace = Trace(loop.time, keep=keep_trace)
    return Sim(
        loop=loop,
        seed=seed,
        clock=LoopClock(loop, epoch),
        entropy=TracedEntropy(seeded_entropy(seed), trace),
        trace=trace,
    )


async def _call(main: Callable[[Sim], Awaitable[T]], sim: Sim) -> T:
    try:
        return await main(sim)
    finally:
        sim.loop.refused = None  # raised already where it came from `main` itself


def _clean_up(loop: SimLoop) -> str:
    """Cancel what is left and close async generators; say what was found, or nothing."""
    loop.run_until_complete(_run_ready_callbacks())
    tasks = loop.tasks
    found = [f"tasks still ran at the end:\n{describe(tasks)}"] if tasks else []
    try:
        loop.run_until_complete(_cancel(tasks))
        loop.run_until_complete(loop.shutdown_asyncgens())
    except SimulationError as error:
        found.append(f"cancelled tasks did not end: {error}")
    found += [f"unhandled: {message}" for message in loop.unseen]
    return "\n".join(found)


async def _run_ready_callbacks() -> None:
    """Let async generators end that were dropped a moment ago; the loop closes them in tasks of its own."""
    for _ in range(3):
        await asyncio.sleep(0)


async def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _reproducible(note: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        error.add_note(note)
        raise


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """A cluster is many objects and few cycles: the usual collections cost a quarter of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def reproduction(seed: int, current_test: str | None = None) -> str:
    """The line that repeats a failure, from the name of the test that runs now."""
    running = os.environ.get("PYTEST_CURRENT_TEST", "") if current_test is None else current_test
    where = running.partition(" ")[0].partition("[")[0] or "tests/sim"
    return f"reproduce: make test T={where} SEED={seed}"
