"""Virtual time: order, jumps, deadlocks, refusals, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gc
import threading
import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.errors import Deadlock, LeftoverTasks, Livelock, NotSimulated, OutOfTime
from vacate.sim import loop as loop_module
from vacate.sim.run import EPOCH, Sim, make_sim, reproduction, run_sim

pytestmark = pytest.mark.sim


def test_a_day_passes_in_no_time() -> None:
    async def main(sim: Sim) -> dt.datetime:
        await sim.clock.sleep(86400)
        return sim.clock.now()

    before = time.monotonic()
    assert run_sim(main) == EPOCH + dt.timedelta(days=1)
    assert time.monotonic() - before < 5


@given(st.lists(st.floats(0, 1e7, allow_nan=False), min_size=1, max_size=20))
def test_timers_fire_exactly_at_their_time_and_in_order(delays: list[float]) -> None:
    fired: list[tuple[float, float]] = []

    async def wait(sim: Sim, delay: float) -> None:
        await asyncio.sleep(delay)
        fired.append((delay, sim.loop.time()))

    async def main(sim: Sim) -> None:
        await asyncio.gather(*(wait(sim, delay) for delay in delays))

    run_sim(main, limit=1e8)
    assert [delay for delay, _ in fired] == sorted(delays)
    assert all(at == pytest.approx(delay, abs=1e-6) for delay, at in fired)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=10), st.floats(0, 1e8))
def test_waiting_for_a_moment_never_returns_early_and_never_spins(steps: list[float], start: float) -> None:
    async def main(sim: Sim) -> None:
        await asyncio.sleep(start)
        for step in steps:
            moment = sim.clock.now() + dt.timedelta(seconds=step)
            await sim.clock.sleep_until(moment)
            assert sim.clock.now() >= moment

    run_sim(main, limit=1e12)


def test_timeouts_are_virtual() -> None:
    async def main(sim: Sim) -> float:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.sleep(7200)
        return sim.loop.time()

    assert run_sim(main) == 3600


def test_a_deadlock_names_the_tasks_that_wait() -> None:
    async def waits_forever() -> None:
        await asyncio.Event().wait()

    async def main(sim: Sim) -> None:
        await asyncio.create_task(waits_forever(), name="the-stuck-one")

    with pytest.raises(Deadlock, match=r"the-stuck-one: .*waits_forever at locks\.py:\d+"):
        run_sim(main)


def test_time_that_stands_still_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "_TURNS_WITHOUT_TIME", 1000)

    async def main(sim: Sim) -> None:
        for _ in range(2000):
            await asyncio.sleep(0)

    with pytest.raises(Livelock, match="time stands still at 0 s"):
        run_sim(main)


def test_whoever_waits_for_the_last_moment_gets_there_while_others_are_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop_module, "_TURNS_WITHOUT_TIME", 1000)

    async def ready() -> None:
        for _ in range(100_000):
            await asyncio.sleep(0)

    async def main(sim: Sim) -> None:
        deadline = sim.clock.monotonic() + 5e-10
        others = asyncio.create_task(ready())
        while (left := deadline - sim.clock.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await asyncio.Event().wait()
        others.cancel()

    run_sim(main)


def test_virtual_time_has_a_limit() -> None:
    async def main(sim: Sim) -> None:
        await asyncio.sleep(3601)

    with pytest.raises(OutOfTime, match="virtual time passed 3600 s"):
        run_sim(main, limit=3600)


async def _thread(loop: asyncio.AbstractEventLoop) -> None:
    await asyncio.to_thread(print)


async def _executor(loop: asyncio.AbstractEventLoop) -> None:
    await loop.run_in_executor(None, print)


async def _connection(loop: asyncio.AbstractEventLoop) -> None:
    await asyncio.open_connection("127.0.0.1", 80)


async def _server(loop: asyncio.AbstractEventLoop) -> None:
    await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)


async def _process(loop: asyncio.AbstractEventLoop) -> None:
    await asyncio.create_subprocess_exec("true")


async def _signal(loop: asyncio.AbstractEventLoop) -> None:
    loop.add_signal_handler(15, print)


@pytest.mark.parametrize("use", [_thread, _executor, _connection, _server, _process, _signal])
def test_the_real_world_is_refused(use) -> None:  # type: ignore[no-untyped-def]
    async def main(sim: Sim) -> None:
        await use(sim.loop)

    with pytest.raises(NotSimulated, match="no threads, sockets or processes"):
        run_sim(main)


def test_another_thread_is_refused() -> None:
    refused: list[BaseException] = []

    async def main(sim: Sim) -> None:
        def call() -> None:
            try:
                sim.loop.call_soon_threadsafe(print)
            except NotSimulated as error:
                refused.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()

    run_sim(main)
    assert len(refused) == 1


def test_a_task_left_behind_is_cancelled_and_reported() -> None:
    ended: list[str] = []

    async def lingers() -> None:
        try:
            await asyncio.sleep(1e9)
        finally:
            ended.append("cancelled")

    async def main(sim: Sim) -> None:
        sim.loop.create_task(lingers(), name="lingerer")
        await asyncio.sleep(1)

    with pytest.raises(LeftoverTasks, match=r"lingerer: .*lingers"):
        run_sim(main)
    assert ended == ["cancelled"]
    run_sim(main, allow_left_behind=True)


def test_an_error_that_nobody_saw_is_reported() -> None:
    async def main(sim: Sim) -> None:
        sim.loop.call_soon(int, "x")
        await asyncio.sleep(1)

    with pytest.raises(LeftoverTasks, match=r"unhandled: .*ValueError"):
        run_sim(main)


def test_async_generators_are_closed() -> None:
    closed: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(1)
            closed.append("closed")

    kept = numbers()

    async def main(sim: Sim) -> int:
        return await anext(kept)

    assert run_sim(main) == 1
    assert closed == ["closed"]


def test_a_task_waits_on_although_nobody_holds_it() -> None:
    seen: list[float] = []

    async def main(sim: Sim) -> None:
        async def alone() -> None:
            gate: asyncio.Future[None] = sim.loop.create_future()
            sim.loop.call_later(5, gate.set_result, None)
            await gate
            seen.append(sim.loop.time())

        sim.loop.create_task(alone())
        await asyncio.sleep(1)
        gc.collect()
        await asyncio.sleep(10)

    run_sim(main)
    assert seen == [5]


def test_shuffling_is_seeded_and_really_mixes() -> None:
    def order(seed: int, *, shuffle: bool) -> list[int]:
        seen: list[int] = []

        async def note(n: int) -> None:
            seen.append(n)

        async def main(sim: Sim) -> None:
            await asyncio.gather(*(note(n) for n in range(20)))

        run_sim(main, seed, shuffle=shuffle)
        return seen

    assert order(1, shuffle=False) == order(2, shuffle=False) == list(range(20))
    assert order(1, shuffle=True) == order(1, shuffle=True)
    assert order(1, shuffle=True) != order(2, shuffle=True)


def test_a_failure_says_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/sim/test_x.py::test_it[4] (call)")

    async def main(sim: Sim) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken") as caught:
        run_sim(main, seed=4)
    assert caught.value.__notes__ == ["reproduce: make test T=tests/sim/test_x.py::test_it SEED=4"]
    assert reproduction(3, "") == "reproduce: make test T=tests/sim SEED=3"


def test_streams_do_not_disturb_each_other() -> None:
    alone = make_sim(5)
    mixed = make_sim(5)
    mixed.stream("nodes").uid()
    assert alone.stream("network").uid() == mixed.stream("network").uid()
    assert alone.stream("network").uid() != alone.stream("nodes").uid()
    alone.loop.close()
    mixed.loop.close()


def test_skew_shifts_the_wall_clock_only() -> None:
    async def main(sim: Sim) -> tuple[float, float]:
        skewed = sim.skewed_clock(30)
        before = sim.loop.time()
        await skewed.sleep_until(sim.clock.now() + dt.timedelta(seconds=40))
        return (skewed.now() - sim.clock.now()).total_seconds(), sim.loop.time() - before

    assert run_sim(main) == (30, 10)
