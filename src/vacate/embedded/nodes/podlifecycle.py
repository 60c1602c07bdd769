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
class PodLifecycle:
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


def arrive(pod: SimulatedPod, timings: PodTimings, now: dt.datetime) -> PodLifecycle:
    """A pod that is new to its node."""
    return PodLifecycle(uid=pod.metadata.uid, arrived=now, starts=after(now, timings.start))


def advance(
    lifecycle: PodLifecycle, pod: SimulatedPod, timings: PodTimings, now: dt.datetime
) -> PodLifecycle:
    """Take every step that is due by now."""
    if pod.deleting or pod.terminal:
        lifecycle = _ask_to_stop(lifecycle, pod, timings, now)
    if lifecycle.running:
        lifecycle = _reschedule_exit(lifecycle, timings, now)
    while (due := _next_step(lifecycle)) is not None and due <= now:
        lifecycle = _step(lifecycle, pod, timings, due)
    return lifecycle


def waits_to_start(lifecycle: PodLifecycle) -> bool:
    """Whether the next thing that happens by itself is a start of the containers."""
    return not lifecycle.running and not lifecycle.ended and not lifecycle.stopping


def next_moment(lifecycle: PodLifecycle, now: dt.datetime) -> dt.datetime | None:
    """When to look again; None where nothing changes by itself."""
    becomes_ready = lifecycle.ready_at if lifecycle.running and not lifecycle.ready(now) else None
    return earliest(_next_step(lifecycle), becomes_ready)


def backoff_after(failures: int) -> float:
    """The wait before a restart: none at first, then ten seconds, doubling up to five minutes."""
    if failures <= 1:
        return 0.0
    return min(FIRST_BACKOFF * 2.0 ** min(failures - 2, 10), MAX_BACKOFF)


def _ask_to_stop(
    lifecycle: PodLifecycle, pod: SimulatedPod, timings: PodTimings, now: dt.datetime
) -> PodLifecycle:
    grace = pod.grace_seconds
    if lifecycle.ended or (lifecycle.grace is not None and lifecycle.grace <= grace):
        return lifecycle
    kill_at = earliest(lifecycle.kill_at, after(now, grace))
    if lifecycle.stopping:
        return replace(lifecycle, grace=grace, kill_at=kill_at)
    return replace(lifecycle, grace=grace, kill_at=kill_at, asked=now, stop_at=after(now, timings.stop))


def _reschedule_exit(lifecycle: PodLifecycle, timings: PodTimings, now: dt.datetime) -> PodLifecycle:
    """How long a pod runs may be set while it runs; what is over by then ends now, not in the past."""
    planned = after(lifecycle.began, timings.run) if lifecycle.began else None
    if planned == lifecycle.exits_at:
        return lifecycle
    return replace(lifecycle, exits_at=max(planned, now) if planned else None)


def _next_step(lifecycle: PodLifecycle) -> dt.datetime | None:
    if lifecycle.ended:
        return None
    if lifecycle.running:
        return earliest(lifecycle.exits_at, lifecycle.stop_at, lifecycle.kill_at)
    return lifecycle.asked or lifecycle.starts


def _step(lifecycle: PodLifecycle, pod: SimulatedPod, timings: PodTimings, due: dt.datetime) -> PodLifecycle:
    if lifecycle.running:
        return _finish_run(lifecycle, pod, due)
    if lifecycle.stopping:
        return _give_up(lifecycle, due)
    return _begin_run(lifecycle, timings, due)


def _begin_run(lifecycle: PodLifecycle, timings: PodTimings, due: dt.datetime) -> PodLifecycle:
    return replace(
        lifecycle,
        starts=None,
        began=due,
        ready_at=after(due, timings.ready),
        exits_at=after(due, timings.run),
        exit_code=timings.exit_code,
        restarts=lifecycle.restarts + (lifecycle.last is not None),
        backoff=0.0,
    )


def _finish_run(lifecycle: PodLifecycle, pod: SimulatedPod, due: dt.datetime) -> PodLifecycle:
    by_itself = due in (lifecycle.exits_at, lifecycle.stop_at)
    code = lifecycle.exit_code if by_itself else KILLED
    return end_run(lifecycle, pod, code, due)


def end_run(lifecycle: PodLifecycle, pod: SimulatedPod, code: int, due: dt.datetime) -> PodLifecycle:
    """The containers end with a code; the restart policy says whether that is the end of the pod."""
    assert lifecycle.began is not None
    lifecycle = replace(
        lifecycle, last=Exit(code, lifecycle.began, due), began=None, ready_at=None, exits_at=None
    )
    if lifecycle.stopping or not _restarts(pod.spec.restart_policy, code):
        return replace(lifecycle, ended=True)
    ran_well = (
        lifecycle.last is not None and (due - _start_of(lifecycle.last)).total_seconds() > 2 * MAX_BACKOFF
    )
    failures = 1 if ran_well else lifecycle.failures + 1
    wait = backoff_after(failures)
    return replace(lifecycle, failures=failures, backoff=wait, starts=after(due, wait))


def _give_up(lifecycle: PodLifecycle, due: dt.datetime) -> PodLifecycle:
    """Asked to stop while nothing runs: there is nothing to wait for."""
    if lifecycle.last is not None:
        return replace(lifecycle, starts=None, ended=True)
    return replace(lifecycle, starts=None, last=Exit(KILLED, None, due), ended=True)


def _restarts(policy: str, code: int) -> bool:
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _start_of(run: Exit) -> dt.datetime:
    return run.started or run.finished
