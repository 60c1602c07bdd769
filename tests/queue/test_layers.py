"""Each layer by itself: order, one timer, limits, metrics."""

from __future__ import annotations

import asyncio

import pytest

from vacate.metrics import Metrics
from vacate.queue.dedupe import DedupeQueue, DedupeState
from vacate.queue.delay import Delays
from vacate.queue.limits import Backoff, TokenBucket
from vacate.queue.queue import Queue
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.unit


async def test_first_come_first_served_and_once() -> None:
    queue: DedupeQueue[str] = DedupeQueue()
    assert [queue.add(key) for key in "abab"] == [True, True, False, False]
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert queue.add("a")
    assert queue.state() == DedupeState(ready=(), processing=("a", "b"), again=("a",))
    queue.done("b")
    queue.done("a")
    assert queue.state() == DedupeState(ready=("a",), processing=(), again=())


async def test_shut_down_hands_out_what_is_left_and_lets_waiting_workers_go() -> None:
    queue: DedupeQueue[str] = DedupeQueue()
    waiting = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.add("a")
    queue.shut_down()
    assert await asyncio.gather(*waiting) == ["a", None]
    assert not queue.add("b")
    queue.done("a")
    assert await queue.get() is None


async def test_a_wake_up_that_meets_a_cancelled_worker_goes_to_the_next() -> None:
    queue: DedupeQueue[str] = DedupeQueue()
    first, second = (asyncio.create_task(queue.get()) for _ in range(2))
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    assert await second == "a"


def test_equal_moments_keep_the_order_of_arrival_and_there_is_one_timer() -> None:
    async def main(sim: Sim) -> None:
        delivered: list[tuple[str, float]] = []
        delays: Delays[str] = Delays(lambda key: delivered.append((key, sim.clock.monotonic())), sim.clock)
        for key in "zyx":
            delays.add_after(key, 5.0)
        delays.add_after("late", 9.0)
        delays.add_after("y", 2.0)
        delays.add_after("y", 7.0)
        timers = [handle for handle in sim.loop._scheduled if not handle.cancelled()]
        assert len(timers) == 1
        assert [key for key, _ in delays.state()] == ["y", "z", "x", "late"]
        await sim.clock.sleep(20)
        assert delivered == [("y", 2.0), ("z", 5.0), ("x", 5.0), ("late", 9.0)]
        assert len(delays) == 0
        assert [handle for handle in sim.loop._scheduled if not handle.cancelled()] == []

    run_sim(main)


def test_what_is_forgotten_or_closed_is_not_delivered() -> None:
    async def main(sim: Sim) -> None:
        delivered: list[str] = []
        delays: Delays[str] = Delays(delivered.append, sim.clock)
        delays.add_after("a", 1.0)
        delays.forget("a")
        delays.add_after("a", 1.0)
        delays.add_after("b", 5.0)
        await sim.clock.sleep(2)
        delays.close()
        delays.add_after("c", 1.0)
        await sim.clock.sleep(20)
        assert delivered == ["a"]
        assert delays.state() == (("b", -17.0),)

    run_sim(main)


def test_backoff_doubles_from_five_milliseconds_to_a_thousand_seconds() -> None:
    backoff: Backoff[str] = Backoff()
    waits = [backoff.failed("a") for _ in range(100)]
    assert waits[:4] == [0.005, 0.01, 0.02, 0.04]
    assert waits[17] == pytest.approx(655.36)
    assert set(waits[18:]) == {1000.0}
    assert (backoff.failures("a"), backoff.failures("b")) == (100, 0)
    backoff.forget("a")
    assert backoff.failed("a") == 0.005


def test_the_bucket_lets_a_burst_pass_and_then_its_rate() -> None:
    bucket = TokenBucket(rate=10.0, burst=3)
    assert [bucket.take(0.0) for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])
    assert bucket.take(0.2) == pytest.approx(0.1)
    assert bucket.take(100.0) == 0.0
    strict = TokenBucket(rate=1.0, burst=1)
    assert [strict.try_take(now) for now in (0.0, 0.5, 0.4, 1.0, 1.5)] == [True, False, False, True, False]


def test_the_overall_limit_holds_failures_of_many_keys_back() -> None:
    async def main(sim: Sim) -> None:
        queue: Queue[int] = Queue(sim.clock, bucket=TokenBucket(rate=10.0, burst=2))
        waits = [queue.add_failed(key) for key in range(4)]
        assert waits == pytest.approx([0.005, 0.005, 0.1, 0.2])
        assert queue.add_failed(0, at_least=60.0) == 60.0
        queue.shut_down()

    run_sim(main)


def test_metrics_follow_the_clock_that_was_given() -> None:
    async def main(sim: Sim) -> None:
        metrics = Metrics()
        queue: Queue[str] = Queue(sim.clock, name="q", metrics=metrics)

        def value(name: str) -> float | None:
            return metrics.registry.get_sample_value(name, {"name": "q", "controller": "q"})

        queue.add("a")
        queue.add("a")
        queue.add("b")
        assert (value("workqueue_adds_total"), value("workqueue_depth")) == (2.0, 2.0)
        await sim.clock.sleep(3)
        assert await queue.get() == "a"
        await sim.clock.sleep(2)
        assert value("workqueue_unfinished_work_seconds") == 2.0
        queue.add_failed("a")
        queue.done("a")
        assert value("workqueue_unfinished_work_seconds") == 0.0
        assert value("workqueue_queue_duration_seconds_sum") == 3.0
        assert value("workqueue_work_duration_seconds_sum") == 2.0
        assert (value("workqueue_retries_total"), value("workqueue_depth")) == (1.0, 1.0)
        queue.shut_down()

    run_sim(main)
