"""The one switch: a row for each arm; and the way from a change to a reconcile."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging

import pytest

from support.runtime_deps import make_deps
from support.tiny_server import TinyServer
from vacate.api.kinds import PODS
from vacate.api.types import Pod
from vacate.errors import Conflict, TooManyRequests, TransportError
from vacate.queue.queue import QueueState
from vacate.runtime import controller as module
from vacate.runtime.controller import Controller, Source
from vacate.runtime.reconcile import Done, Key, Later, Outcome, Terminal
from vacate.sim.run import EPOCH, Sim, run_sim

pytestmark = pytest.mark.sim

KEY = Key("shop", "web")
SOON = EPOCH + dt.timedelta(seconds=5 + 30)


class Scripted:
    """Answers or raises what the test sets, and notes what it was asked."""

    def __init__(self, *outcomes: Outcome | Exception) -> None:
        self.outcomes = list(outcomes)
        self.asked: list[Key] = []
        self.busy: dict[Key, None] = {}

    async def reconcile(self, key: Key) -> Outcome:
        assert key not in self.busy
        self.asked.append(key)
        outcome = self.outcomes.pop(0) if self.outcomes else Done()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


BUSY = TooManyRequests("budget", details={"retryAfterSeconds": 10})


@pytest.mark.parametrize(
    ("outcome", "result", "later", "failures", "logged"),
    [
        (Done(), "success", (), (), None),
        (Later(SOON), "requeue_after", ((KEY, 30.0),), (), None),
        (Conflict("modified"), "conflict", ((KEY, 0.02),), ((KEY, 3),), None),
        (TransportError("no answer"), "error", ((KEY, 0.02),), ((KEY, 3),), logging.WARNING),
        (BUSY, "error", ((KEY, 10.0),), ((KEY, 3),), logging.WARNING),
        (ZeroDivisionError("bug"), "error", ((KEY, 0.02),), ((KEY, 3),), logging.WARNING),
        (Terminal("hopeless"), "terminal", (), (), logging.ERROR),
    ],
)
def test_each_outcome_has_one_meaning(
    outcome: Outcome | Exception,
    result: str,
    later: tuple[tuple[Key, float], ...],
    failures: tuple[tuple[Key, int], ...],
    logged: int | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main(sim: Sim) -> None:
        deps = make_deps(sim, TinyServer())
        one = Controller("test", Scripted(outcome), [], deps)
        for _ in range(2):  # it has failed twice before
            one.queue.add_failed(KEY)
        await sim.clock.sleep(5)
        assert await one.queue.get() == KEY
        with caplog.at_level(logging.DEBUG, module.__name__):
            await one.process(KEY)
        one.queue.done(KEY)
        state = one.queue.state()
        assert [key for key, _ in state.later] == [key for key, _ in later]
        assert [left for _, left in state.later] == pytest.approx([left for _, left in later])
        assert (state.ready, state.processing, state.failures) == ((), (), failures)
        labels = {"controller": "test", "result": result}
        assert deps.metrics.registry.get_sample_value("controller_runtime_reconcile_total", labels) == 1.0
        one.queue.shut_down()

    run_sim(main)
    assert [record.levelno for record in caplog.records] == ([logged] if logged else [])
    if isinstance(outcome, ZeroDivisionError):
        assert caplog.records[0].exc_info, "a bug needs its traceback"


def test_a_moment_that_has_passed_means_at_once() -> None:
    async def main(sim: Sim) -> None:
        reconciler = Scripted(Later(EPOCH - dt.timedelta(seconds=1)))
        one = Controller("test", reconciler, [], make_deps(sim, TinyServer()))
        one.queue.add(KEY)
        running = asyncio.create_task(one.run())
        await sim.clock.sleep(1)
        assert reconciler.asked == [KEY, KEY]
        one.queue.shut_down()
        await running

    run_sim(main)


def test_changes_reach_the_reconciler_under_the_keys_of_their_owners() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        deps = make_deps(sim, server)
        pods = deps.informers.informer(PODS, Pod)

        def owners(pod: Pod) -> list[Key]:
            return [Key(pod.metadata.namespace, name) for name in pod.metadata.labels.values()]

        def labelled(old: Pod | None, new: Pod | None) -> bool:
            return any(pod is not None and pod.metadata.labels for pod in (old, new))

        reconciler = Scripted()
        one = Controller("test", reconciler, [Source(pods, owners, when=labelled)], deps, workers=2)
        server.put(PODS, "a", metadata={"labels": {"app": "first"}})
        server.put(PODS, "b")
        tasks = [asyncio.create_task(pods.run()), asyncio.create_task(one.run())]
        await sim.clock.sleep(1)
        assert reconciler.asked == [Key("default", "first")]
        server.put(PODS, "a", metadata={"labels": {"app": "second"}})
        await sim.clock.sleep(1)
        assert reconciler.asked[1:] == [Key("default", "first"), Key("default", "second")]
        assert one.queue.state() == QueueState((), (), (), (), ())
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    run_sim(main)


def test_the_default_key_is_the_object_itself() -> None:
    async def main(sim: Sim) -> None:
        deps = make_deps(sim, TinyServer())
        pods = deps.informers.informer(PODS, Pod)
        assert deps.informers.informer(PODS, Pod) is pods
        assert deps.informers.informer(PODS, Pod, namespace="shop") is not pods
        with pytest.raises(TypeError, match="cached as Pod"):
            deps.informers.informer(PODS, dict)
        assert list(Source(pods).keys({"metadata": {"name": "web", "namespace": "shop"}})) == [KEY]  # type: ignore[arg-type]

    run_sim(main)


def test_many_looks_that_wait_for_nothing_let_others_have_their_turns() -> None:
    async def main(sim: Sim) -> None:
        reconciler = Scripted()
        one = Controller("test", reconciler, [], make_deps(sim, TinyServer()), workers=2)
        for number in range(1000):
            one.queue.add(Key("shop", f"web-{number}"))
        working = asyncio.create_task(one.run())
        turns = 0
        while len(reconciler.asked) < 1000:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 400, "a lease could not be renewed meanwhile"
        working.cancel()
        await asyncio.wait([working])
        one.queue.shut_down()

    run_sim(main)
