"""PURE. A node process that starts finds pods already there: their life so far is read from their status.

The containers of a pod outlive a restart of the node process, and end when the machine goes down. What the
old process remembered and did not write is lost: a termination begins anew, and so does the back-off.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vacate.api.objects import dig
from vacate.api.times import parse_time
from vacate.embedded.nodes.podlifecycle import KILLED, Exit, PodLifecycle, arrive, end_run
from vacate.embedded.nodes.projections import SimulatedPod
from vacate.embedded.nodes.timings import PodTimings, after

Survived = Callable[[dt.datetime | None], bool]
"""Whether containers that started then are still there."""


def adopt(
    pod: SimulatedPod, timings: PodTimings, now: dt.datetime, *, survived: Survived = lambda _: True
) -> PodLifecycle:
    """The life that the status tells of; one that never began where it tells of none."""
    statuses = pod.status.get("containerStatuses")
    if not isinstance(statuses, list) or not statuses:
        return _without_containers(pod, timings, now)
    status = statuses[0]
    arrived = _time(pod.status.get("startTime")) or now
    lifecycle = PodLifecycle(
        uid=pod.metadata.uid,
        arrived=arrived,
        exit_code=timings.exit_code,
        restarts=_count(status.get("restartCount")),
        last=_exit(dig(status, "lastState", "terminated"), now),
    )
    return _resume(lifecycle, pod, status.get("state") or {}, timings, now, survived=survived)


def _without_containers(pod: SimulatedPod, timings: PodTimings, now: dt.datetime) -> PodLifecycle:
    lifecycle = arrive(pod, timings, _time(pod.status.get("startTime")) or now)
    return replace(lifecycle, starts=None, ended=True) if pod.terminal else lifecycle


def _resume(
    lifecycle: PodLifecycle,
    pod: SimulatedPod,
    state: dict[str, Any],
    timings: PodTimings,
    now: dt.datetime,
    *,
    survived: Survived,
) -> PodLifecycle:
    if pod.terminal and not state.get("running"):
        return replace(lifecycle, last=_exit(state.get("terminated"), now) or lifecycle.last, ended=True)
    if began := _time(dig(state, "running", "startedAt")):
        lifecycle = _running(lifecycle, pod, timings, began)
        return lifecycle if survived(began) else end_run(lifecycle, pod, KILLED, now)
    if finished := _exit(state.get("terminated"), now):
        return end_run(
            replace(lifecycle, began=finished.started or now), pod, finished.code, finished.finished
        )
    # Waiting: for the first start, or for a restart whose back-off is forgotten.
    return replace(lifecycle, starts=now if lifecycle.last else after(lifecycle.arrived, timings.start))


def _running(
    lifecycle: PodLifecycle, pod: SimulatedPod, timings: PodTimings, began: dt.datetime
) -> PodLifecycle:
    was_ready = any(
        one.get("type") == "ContainersReady" and one.get("status") == "True"
        for one in pod.status.get("conditions") or ()
    )
    ready_at = began if was_ready else after(began, timings.ready)
    return replace(lifecycle, began=began, ready_at=ready_at, exits_at=after(began, timings.run))


def _exit(terminated: Any, now: dt.datetime) -> Exit | None:
    if not isinstance(terminated, dict):
        return None
    finished = _time(terminated.get("finishedAt")) or now
    return Exit(_count(terminated.get("exitCode")), _time(terminated.get("startedAt")), finished)


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _time(text: Any) -> dt.datetime | None:
    try:
        return parse_time(text) if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None
