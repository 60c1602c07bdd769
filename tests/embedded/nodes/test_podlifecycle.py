"""The life of a pod that is simulated: tables for each turn it can take, and properties over all of them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.simulated.pods import T0, at, deleted, simulated_pod
from vacate.embedded.nodes.podlifecycle import (
    KILLED,
    Exit,
    PodLifecycle,
    advance,
    arrive,
    backoff_after,
    next_moment,
)
from vacate.embedded.nodes.podstatus import phase_of
from vacate.embedded.nodes.timings import NEVER, PodTimings
from vacate.testing import pod

pytestmark = pytest.mark.unit


def lived(timings: PodTimings, until: float, **overrides: Any) -> PodLifecycle:
    view = simulated_pod(**overrides)
    return advance(arrive(view, timings, T0), view, timings, at(until))


def test_a_pod_starts_and_becomes_ready_at_its_times() -> None:
    timings = PodTimings(start=2, ready=3)
    waiting = lived(timings, 1.9)
    assert (waiting.running, next_moment(waiting, at(1.9))) == (False, at(2))
    started = lived(timings, 2)
    assert started.running
    assert not started.ready(at(2))
    assert next_moment(started, at(2)) == at(5)
    assert started.ready(at(5))
    assert next_moment(started, at(5)) is None


def test_a_pod_that_never_starts_or_is_never_ready_has_no_next_moment() -> None:
    assert next_moment(lived(PodTimings(start=NEVER), 9), at(9)) is None
    assert next_moment(lived(PodTimings(ready=NEVER), 9), at(9)) is None


def test_the_end_of_a_running_pod_can_be_set() -> None:
    view = simulated_pod(spec={"restartPolicy": "Never"})
    lifecycle = lived(PodTimings(start=1), 5, spec={"restartPolicy": "Never"})
    later = advance(lifecycle, view, PodTimings(start=1, run=20), at(6))
    assert (later.running, next_moment(later, at(6))) == (True, at(21))
    at_once = advance(later, view, PodTimings(start=1, run=0), at(7))
    assert at_once.last == Exit(0, at(1), at(7))
    forgotten = advance(later, view, PodTimings(start=1, run=NEVER), at(8))
    assert next_moment(forgotten, at(8)) is None


@pytest.mark.parametrize(
    ("policy", "code", "phase", "restarts"),
    [
        ("Never", 0, "Succeeded", 0),
        ("Never", 3, "Failed", 0),
        ("OnFailure", 0, "Succeeded", 0),
        ("OnFailure", 3, "Running", 1),
        ("Always", 0, "Running", 1),
        ("Always", 3, "Running", 1),
    ],
)
def test_the_restart_policy_decides_about_a_pod_that_ends(
    policy: str, code: int, phase: str, restarts: int
) -> None:
    timings = PodTimings(start=1, run=10, exit_code=code)
    lifecycle = lived(timings, 11, spec={"restartPolicy": policy})
    assert (phase_of(lifecycle, simulated_pod()), lifecycle.restarts) == (phase, restarts)
    assert lifecycle.last == Exit(code, at(1), at(11))


def test_restarts_wait_longer_and_longer() -> None:
    assert [backoff_after(n) for n in range(1, 9)] == [0, 10, 20, 40, 80, 160, 300, 300]
    timings = PodTimings(start=0, run=1, exit_code=1)
    # runs: 0-1, 1-2, then 10 s, 12-13, then 20 s, 33-34
    assert lived(timings, 11.9).began is None
    assert lived(timings, 12).began == at(12)
    assert lived(timings, 33).began == at(33)
    assert lived(timings, 33).restarts == 3


def test_a_run_of_more_than_ten_minutes_is_forgiven() -> None:
    timings = PodTimings(start=0, run=601, exit_code=1)
    assert lived(timings, 601 * 5).began == at(601 * 5)


@pytest.mark.parametrize(
    ("stop", "grace", "ends", "code"),
    [
        (5, 30, 105, 0),  # ends by itself
        (60, 30, 130, KILLED),  # does not, and is killed
        (NEVER, 30, 130, KILLED),
        (5, 0, 101, KILLED),  # no grace still is a second
        (30, 30, 130, 0),
    ],
)
def test_a_pod_asked_to_stop_takes_its_time_within_the_grace(
    stop: float, grace: int, ends: float, code: int
) -> None:
    timings = PodTimings(stop=stop)
    obj = pod("web", node="node-1", stored=True)
    lifecycle = advance(arrive(simulated_pod(obj), timings, T0), simulated_pod(obj), timings, at(50))
    gone = deleted(obj, grace, 100)
    lifecycle = advance(lifecycle, gone, timings, at(100))
    assert next_moment(lifecycle, at(100)) == at(ends)
    lifecycle = advance(lifecycle, gone, timings, at(500))
    assert lifecycle.ended
    assert lifecycle.last == Exit(code, at(1), at(ends))


def test_a_second_shorter_grace_counts_from_when_it_is_seen() -> None:
    timings = PodTimings(stop=NEVER)
    obj = pod("web", node="node-1", stored=True)
    lifecycle = advance(arrive(simulated_pod(obj), timings, T0), simulated_pod(obj), timings, at(50))
    lifecycle = advance(lifecycle, deleted(obj, 300), timings, at(100))
    lifecycle = advance(lifecycle, deleted(obj, 10), timings, at(150))
    assert next_moment(lifecycle, at(150)) == at(160)
    assert advance(lifecycle, deleted(obj, 60), timings, at(151)) == lifecycle


def test_a_longer_grace_changes_nothing_and_neither_does_a_late_short_one() -> None:
    timings = PodTimings(stop=NEVER)
    obj = pod("web", node="node-1", stored=True)
    lifecycle = advance(arrive(simulated_pod(obj), timings, T0), simulated_pod(obj), timings, at(50))
    lifecycle = advance(lifecycle, deleted(obj, 30), timings, at(100))
    lifecycle = advance(lifecycle, deleted(obj, 20), timings, at(125))
    assert next_moment(lifecycle, at(125)) == at(130)


def test_a_pod_deleted_before_it_started_ends_at_once_and_as_failed() -> None:
    timings = PodTimings(start=60)
    obj = pod("web", node="node-1", stored=True)
    lifecycle = advance(arrive(simulated_pod(obj), timings, T0), simulated_pod(obj), timings, at(5))
    gone = deleted(obj, 30)
    lifecycle = advance(lifecycle, gone, timings, at(6))
    assert lifecycle.ended
    assert lifecycle.last == Exit(KILLED, None, at(6))
    assert phase_of(lifecycle, gone) == "Failed"


def test_a_pod_deleted_in_its_back_off_ends_at_once() -> None:
    timings = PodTimings(start=0, run=1, exit_code=4)
    obj = pod("web", node="node-1", stored=True)
    lifecycle = advance(arrive(simulated_pod(obj), timings, T0), simulated_pod(obj), timings, at(5))
    lifecycle = advance(lifecycle, deleted(obj, 30), timings, at(6))
    assert lifecycle.ended
    assert lifecycle.last == Exit(4, at(1), at(2))


def test_a_pod_that_someone_else_declared_ended_is_stopped() -> None:
    timings = PodTimings(stop=3)
    view = simulated_pod()
    lifecycle = advance(arrive(view, timings, T0), view, timings, at(50))
    failed = simulated_pod(pod("web", node="node-1", phase="Failed"))
    lifecycle = advance(lifecycle, failed, timings, at(100))
    assert next_moment(lifecycle, at(100)) == at(103)
    assert phase_of(advance(lifecycle, failed, timings, at(103)), failed) == "Failed"


SECONDS = st.one_of(st.integers(0, 2000).map(float), st.just(NEVER))
TIMINGS = st.builds(
    PodTimings, start=SECONDS, ready=SECONDS, stop=SECONDS, run=SECONDS, exit_code=st.integers(0, 3)
)
POLICIES = st.sampled_from(["Always", "OnFailure", "Never"])
MOMENTS = st.lists(st.integers(0, 5000), min_size=1, max_size=6).map(sorted)


@given(TIMINGS, POLICIES, MOMENTS)
def test_looking_more_often_changes_nothing(timings: PodTimings, policy: str, moments: list[int]) -> None:
    view = simulated_pod(spec={"restartPolicy": policy})
    stepwise = arrive(view, timings, T0)
    for moment in moments:
        stepwise = advance(stepwise, view, timings, at(moment))
    assert stepwise == advance(arrive(view, timings, T0), view, timings, at(moments[-1]))


@given(TIMINGS, POLICIES, st.integers(0, 5000))
def test_the_next_moment_is_ahead_and_something_happens_then(
    timings: PodTimings, policy: str, now: int
) -> None:
    view = simulated_pod(spec={"restartPolicy": policy})
    lifecycle = advance(arrive(view, timings, T0), view, timings, at(now))
    moment = next_moment(lifecycle, at(now))
    if moment is None:
        assert advance(lifecycle, view, timings, at(10**8)) == lifecycle
        return
    assert moment > at(now)
    later = advance(lifecycle, view, timings, moment)
    assert later != lifecycle or later.ready(moment) != lifecycle.ready(at(now))
    just_before = moment - dt.timedelta(microseconds=1)
    assert advance(lifecycle, view, timings, just_before) == lifecycle


@given(TIMINGS, POLICIES, st.integers(0, 3000), st.lists(st.integers(0, 100), min_size=1, max_size=4))
def test_a_deleted_pod_ends_within_the_shortest_grace_it_was_given(
    timings: PodTimings, policy: str, when: int, graces: list[int]
) -> None:
    obj = pod("web", node="node-1", stored=True, spec={"restartPolicy": policy})
    lifecycle = advance(arrive(simulated_pod(obj), timings, T0), simulated_pod(obj), timings, at(when))
    deadline = 10.0**9
    for step, grace in enumerate(graces):
        now = when + step
        lifecycle = advance(lifecycle, deleted(obj, grace), timings, at(now))
        deadline = min(deadline, now + max(grace, 1))
    lifecycle = advance(lifecycle, deleted(obj, 100), timings, at(deadline))
    assert lifecycle.ended
    assert lifecycle.last is not None
    assert lifecycle.last.finished <= at(deadline)
