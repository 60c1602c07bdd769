"""The queue against its promises, in any history: a state machine on virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support.effort import examples
from vacate.queue.queue import Queue
from vacate.sim.run import make_sim

pytestmark = pytest.mark.sim

keys = st.sampled_from("abcd")


class QueueMachine(RuleBasedStateMachine):
    """Workers are tasks that wait in `get`; the model knows what they must and must not receive."""

    @initialize(workers=st.integers(1, 3))
    def start(self, workers: int) -> None:
        self.sim = make_sim()
        self.loop = self.sim.loop
        self.queue: Queue[str] = Queue(self.sim.clock)
        self.gets: list[asyncio.Task[str | None]] = []
        self.working: list[str] = []
        self.ready: list[str] = []  # the model: accepted, not given out, in order
        self.again: list[str] = []  # added while a worker has them
        self.later: dict[str, float] = {}  # the earliest moment asked for
        self.failures: dict[str, int] = {}
        self.closed = False
        self.turns = 0
        for _ in range(workers):
            self.gets.append(self.loop.create_task(self.queue.get()))

    def call(self, function: Any, *arguments: Any) -> None:
        async def inside() -> None:
            function(*arguments)

        self.loop.run_until_complete(inside())
        self.settle(0.0)

    def settle(self, seconds: float) -> None:
        """Let time pass and collect what the workers received."""
        self.turns += 1
        self.loop.run_until_complete(asyncio.sleep(seconds))
        for _ in range(3):
            self.loop.run_until_complete(asyncio.sleep(0))
        self._model_time()
        self._collect()

    def _model_time(self) -> None:
        now = self.sim.clock.monotonic() + 1e-6
        for key in sorted(self.later, key=lambda key: self.later[key]):
            if not self.closed and self.later[key] <= now:
                del self.later[key]
                self._accept(key)

    def _accept(self, key: str) -> None:
        if key in self.working:
            if key not in self.again:
                self.again.append(key)
        elif key not in self.ready:
            self.ready.append(key)

    def _ask(self, key: str, seconds: float) -> None:
        """An earlier moment replaces a later one; equal moments are served in the order of asking."""
        moment = self.sim.clock.monotonic() + seconds
        if key not in self.later or moment < self.later[key]:
            self.later.pop(key, None)
            self.later[key] = moment

    def _collect(self) -> None:
        received = [task.result() for task in self.gets if task.done()]
        self.gets = [task for task in self.gets if not task.done()]
        for key in received:
            if key is None:
                assert self.closed
                assert not self.ready
                continue
            assert key not in self.working, "two workers have the same key"
            assert key in self.ready, "a key was given out that nobody added"
            self.ready.remove(key)
            self.working.append(key)

    @rule(key=keys)
    def add(self, key: str) -> None:
        if not self.closed:
            self._accept(key)
        self.call(self.queue.add, key)

    @rule(delays=st.lists(st.tuples(keys, st.sampled_from([0.0, 0.5, 1.0, 3.0])), min_size=1, max_size=4))
    def add_after(self, delays: list[tuple[str, float]]) -> None:
        for key, seconds in delays:
            if not self.closed:
                self._ask(key, seconds)
            self.call(self.queue.add_after, key, seconds)

    @rule(key=keys)
    def fail(self, key: str) -> None:
        before = self.failures.get(key, 0)
        self.failures[key] = before + 1
        if not self.closed:
            self._ask(key, 0.005 * 2**before)
        self.call(self.queue.add_failed, key)

    @rule(key=keys)
    def forget(self, key: str) -> None:
        self.failures.pop(key, None)
        self.call(self.queue.forget, key)

    @rule(seconds=st.sampled_from([0.3, 1.0, 5.0]))
    def wait(self, seconds: float) -> None:
        self.settle(seconds)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.working))
        self.working.remove(key)
        if key in self.again:
            self.again.remove(key)
            self.ready.append(key)
        self.call(self.queue.done, key)
        if not self.closed or self.ready:
            self.gets.append(self.loop.create_task(self.queue.get()))
            self.settle(0.0)

    @precondition(lambda self: self.gets)
    @rule()
    def a_waiting_worker_is_cancelled_and_replaced(self) -> None:
        task = self.gets.pop(0)
        task.cancel()
        self.gets.append(self.loop.create_task(self.queue.get()))
        self.settle(0.0)

    @precondition(lambda self: self.turns > 20)  # early ones would leave little to see
    @rule()
    def shut_down(self) -> None:
        self.closed = True
        self.call(self.queue.shut_down)

    @invariant()
    def nothing_is_lost_and_the_earliest_moment_counts(self) -> None:
        if not hasattr(self, "queue"):
            return
        state = self.queue.state()
        assert list(state.ready) == self.ready
        assert sorted(state.processing) == sorted(self.working)
        assert sorted(state.again) == sorted(self.again)
        now = self.sim.clock.monotonic()
        assert {key: now + left for key, left in state.later} == pytest.approx(self.later)
        assert [left for _, left in state.later] == sorted(left for _, left in state.later)
        assert dict(state.failures) == self.failures

    @invariant()
    def no_key_waits_while_a_worker_is_idle(self) -> None:
        if hasattr(self, "queue"):
            assert not (self.ready and self.gets)

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            for task in self.gets:
                task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()


QueueMachine.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
TestQueue = pytest.mark.sim(QueueMachine.TestCase)
