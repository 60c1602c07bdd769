"""Runs in two processes: the same as one after the other, whatever becomes of the second process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from vacate.api.kinds import NODES, PODS
from vacate.plan import processes
from vacate.plan.fields import reduced
from vacate.plan.forecast import Run
from vacate.plan.processes import side_by_side
from vacate.plan.run import PlanOptions, Progress, StopPlan, run_plan
from vacate.plan.snapshot import Snapshot
from vacate.plan.timings import Pace
from vacate.sim.run import EPOCH
from vacate.testing.builders import node, pod

pytestmark = [pytest.mark.sim, pytest.mark.timeout(60)]

RUNNING = {"name": "main", "ready": True, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
LONE = pod(
    "lone",
    node="node-1",
    ready=True,
    metadata={"uid": "p1"},
    spec={"terminationGracePeriodSeconds": 600},
    status={"startTime": "2026-01-01T00:00:00Z", "containerStatuses": [RUNNING]},
)
OBJECTS = {NODES: [node("node-1", metadata={"uid": "n1"})], PODS: [LONE]}
SNAPSHOT = Snapshot(EPOCH, {kind: [reduced(kind, one) for one in some] for kind, some in OBJECTS.items()})
OPTIONS = PlanOptions(("node-1",), {"pods": {"unmanagedPods": "Evict"}})
make: Callable[[Pace], Callable[[Progress], Run]] = partial(partial, run_plan, SNAPSHOT, OPTIONS)


def ignore(_seconds: float, _pods: int) -> None:
    """Nobody wants to know."""


def at_once(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(processes, "_processors", lambda: number)


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_two_at_once_come_to_what_one_after_the_other_comes_to(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    tasks = [(make(pace), ignore) for pace in [Pace.SLOW, Pace.FAST, Pace.DRAWN][:count]]
    at_once(monkeypatch, 1)
    alone = [*side_by_side(tasks)]
    at_once(monkeypatch, 2)
    assert [*side_by_side(tasks)] == alone
    assert len({one.seconds for one in alone}) == count
    assert not children()


def test_a_run_that_fails_in_its_own_process_fails_here(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch, 2)
    here = os.getpid()

    def fail(_progress: Progress) -> Run:
        raise ArithmeticError(f"in {'this' if os.getpid() == here else 'another'} process")

    runs = side_by_side([(make(Pace.FAST), ignore), (fail, ignore)])
    assert next(runs).seconds >= 0
    with pytest.raises(ArithmeticError, match="in this process"):
        next(runs)


def test_a_process_that_is_killed_costs_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel does where memory is short."""
    at_once(monkeypatch, 2)
    here = os.getpid()

    def die(progress: Progress) -> Run:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return make(Pace.SLOW)(progress)

    first, second = side_by_side([(make(Pace.SLOW), ignore), (die, ignore)])
    assert first == second


@pytest.mark.parametrize("waits", [False, True], ids=["in the first run", "while the second is awaited"])
def test_stopping_ends_the_other_process(monkeypatch: pytest.MonkeyPatch, waits: bool) -> None:
    at_once(monkeypatch, 2)
    reported: list[float] = []

    def stop(seconds: float, _pods: int) -> None:
        reported.append(seconds)
        if seconds:
            raise StopPlan

    def endless(progress: Progress) -> Run:
        progress(7.0, 1)
        time.sleep(3600)
        raise AssertionError

    def stopped(_progress: Progress) -> Run:
        raise KeyboardInterrupt

    runs = side_by_side([(make(Pace.FAST) if waits else stopped, ignore), (endless, stop)])
    if waits:
        next(runs)
    with pytest.raises(StopPlan if waits else KeyboardInterrupt):
        next(runs)
    assert reported[-1:] == ([7.0] if waits else [])
    assert not children()


def test_a_process_ends_when_nobody_waits_for_it_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch, 2)
    reader, writer = os.pipe()

    def report_for_ever(progress: Progress) -> Run:
        while True:
            progress(1.0, 1)
            time.sleep(0.01)

    if (parent := os.fork()) == 0:
        os.close(reader)
        next(side_by_side([(lambda _: os._exit(0), ignore), (report_for_ever, ignore)]))
    os.close(writer)
    os.waitpid(parent, 0)
    assert os.read(reader, 1) == b""  # the last process that could write has ended
    os.close(reader)
