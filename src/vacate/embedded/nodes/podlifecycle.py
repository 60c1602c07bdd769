"""PURE. The life of a simulated pod: given the pod, its timings and now, where is it and what comes when?

    arrived ── start ──> running ── exit ──> ended, or after a back-off running again
                            └── asked to stop: ends by itself in time, or is killed at the end of the grace

A life is a value. Every step happens at the moment it was due, however late `advance` is called.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

from vacate.embedded.nodes.projections import SimulatedPod
from vacate.embedded.nodes.timings import PodTimings, after, earliest

KILLED = 137
FIRST_BACKOFF = 10.0
MAX_BACKOFF = 300.0


@dataclass(frozen=True, slots=True)
class Exit:
    """How a run of the containers ended. A run that never began has no start."""

    code: int
    started: dt.datetime | None
    finished: dt.datetime


@dataclass(frozen=True, slots=True)
class Life:
    """One pod's containers, which start and end together."""

    uid: str
    arrived: dt.datetime
    starts: dt.datetime | None = None  # when the next run begins; None while running or ended
    began: dt.datetime | None = None  # when the present run began
    ready_at: dt.datetime | None = None  # when the present run becomes ready
    exits_at: dt.datetime | None = None  # when the present run ends by itself
    exit_code: int = 0  # with which code, by itself or asked
    last: Exit | None = None  # the run before, or the one that ended the life
    restarts: int = 0
    failures: int = 0  # exits in a row, for the back-off
    backoff: float = 0.0  # what the present wait for a restart takes
    asked: dt.datetime | None = None  # when the pod was first asked to stop
    stop_at: dt.datetime | None = None  # asked to stop: when the containers end by themselves
    kill_at: dt.datetime | None = None  # asked to stop: when they are killed
    grace: int | None = None  # the shortest grace period seen; None while not asked to stop
    ended: bool = False  # nothing runs, and nothing will

    @property
    def running(self) -> bool:
        """Whether the containers run."""
        return self.began is not None and not self.ended

    @property
    def stopping(self) -> bool:
        """Whether the pod was asked to stop."""
        return self.asked is not None

    def ready(self, now: dt.datetime) -> bool:
        """Whether the containers run and are ready."""
        return self.running and self.ready_at is not None and self.ready_at <= now


def arrive(pod: SimulatedPod, timings: PodTimings, now: dt.datetime) -> Life:
    """A pod that is new to its node."""
    return Life(uid=pod.metadata.uid, arrived=now, starts=after(now, timings.start))


def advance(life: Life, pod: SimulatedPod, timings: PodTimings, now: dt.datetime) -> Life:
    """Take every step that is due by now."""
    if pod.deleting or pod.terminal:
        life = _ask_to_stop(life, pod, timings, now)
    if life.running:
        life = _reschedule_exit(life, timings, now)
    while (due := _next_step(life)) is not None and due <= now:
        life = _step(life, pod, timings, due)
    return life


def waits_to_start(life: Life) -> bool:
    """Whether the next thing that happens by itself is a start of the containers."""
    return not life.running and not life.ended and not life.stopping


def next_moment(life: Life, now: dt.datetime) -> dt.datetime | None:
    """When to look again; None where nothing changes by itself."""
    becomes_ready = life.ready_at if life.running and not life.ready(now) else None
    return earliest(_next_step(life), becomes_ready)


def backoff_after(failures: int) -> float:
    """The wait before a restart: none at first, then ten seconds, doubling up to five minutes."""
    if failures <= 1:
        return 0.0
    return min(FIRST_BACKOFF * 2.0 ** min(failures - 2, 10), MAX_BACKOFF)


def _ask_to_stop(life: Life, pod: SimulatedPod, timings: PodTimings, now: dt.datetime) -> Life:
    grace = pod.grace_seconds
    if life.ended or (life.grace is not None and life.grace <= grace):
        return life
    kill_at = earliest(life.kill_at, after(now, grace))
    if life.stopping:
        return replace(life, grace=grace, kill_at=kill_at)
    return replace(life, grace=grace, kill_at=kill_at, asked=now, stop_at=after(now, timings.stop))


def _reschedule_exit(life: Life, timings: PodTimings, now: dt.datetime) -> Life:
    """How long a pod runs may be said while it runs; what is over by then ends now, not in the past."""
    planned = after(life.began, timings.run) if life.began else None
    if planned == life.exits_at:
        return life
    return replace(life, exits_at=max(planned, now) if planned else None)


def _next_step(life: Life) -> dt.datetime | None:
    if life.ended:
        return None
    if life.running:
        return earliest(life.exits_at, life.stop_at, life.kill_at)
    return life.asked or life.starts


def _step(life: Life, pod: SimulatedPod, timings: PodTimings, due: dt.datetime) -> Life:
    if life.running:
        return _finish_run(life, pod, due)
    if life.stopping:
        return _give_up(life, due)
    return _begin_run(life, timings, due)


def _begin_run(life: Life, timings: PodTimings, due: dt.datetime) -> Life:
    return replace(
        life,
        starts=None,
        began=due,
        ready_at=after(due, timings.ready),
        exits_at=after(due, timings.run),
        exit_code=timings.exit_code,
        restarts=life.restarts + (life.last is not None),
        backoff=0.0,
    )


def _finish_run(life: Life, pod: SimulatedPod, due: dt.datetime) -> Life:
    by_itself = due in (life.exits_at, life.stop_at)
    code = life.exit_code if by_itself else KILLED
    return end_run(life, pod, code, due)


def end_run(life: Life, pod: SimulatedPod, code: int, due: dt.datetime) -> Life:
    """The containers end with a code; the restart policy says whether that is the end of the pod."""
    assert life.began is not None
    life = replace(life, last=Exit(code, life.began, due), began=None, ready_at=None, exits_at=None)
    if life.stopping or not _restarts(pod.spec.restart_policy, code):
        return replace(life, ended=True)
    ran_well = life.last is not None and (due - _start_of(life.last)).total_seconds() > 2 * MAX_BACKOFF
    failures = 1 if ran_well else life.failures + 1
    wait = backoff_after(failures)
    return replace(life, failures=failures, backoff=wait, starts=after(due, wait))


def _give_up(life: Life, due: dt.datetime) -> Life:
    """Asked to stop while nothing runs: there is nothing to wait for."""
    if life.last is not None:
        return replace(life, starts=None, ended=True)
    return replace(life, starts=None, last=Exit(KILLED, None, due), ended=True)


def _restarts(policy: str, code: int) -> bool:
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _start_of(run: Exit) -> dt.datetime:
    return run.started or run.finished
