"""PURE. The next step of a Job: which pods are made and deleted, and what its status says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api import times
from vacate.api.terminationreason import DECOMMISSIONED
from vacate.api.types import Job, Pod, condition
from vacate.api.types.batch import JobStatus
from vacate.embedded.controllers.job.conditions import JobEnd, decide_end, suspension, with_condition
from vacate.embedded.controllers.job.tracking import PodCounts, count_pods, is_tracked
from vacate.embedded.controllers.replicaset.replicas import BURST
from vacate.kube.deletionorder import first_to_go

FIRST_PAUSE, MAX_PAUSE = 10.0, 600.0
"""Seconds before a pod is made in place of a failed one; they double with each failure."""


@dataclass(frozen=True, slots=True)
class JobPlan:
    """The status comes first; the rest follows from it."""

    status: JobStatus
    create: int = 0
    delete: tuple[Pod, ...] = ()
    release: tuple[Pod, ...] = ()
    at: dt.datetime | None = None  # when to look again
    reason: str = ""  # why pods are deleted: none where the Job failed or is suspended


def plan_job(job: Job, pods: Sequence[Pod], now: dt.datetime) -> JobPlan:
    """What is done now for a Job that has not finished; `pods` are all that it controls."""
    if job.metadata.deletion_timestamp is not None:
        return JobPlan(job.status, release=tuple(filter(is_tracked, pods)))
    counts, spec = count_pods(job, pods), job.spec
    started = None if spec.suspend else job.status.start_time or now
    end = decide_end(job, counts, started, now)
    status = _status(job, counts, end, started, now)
    if end is not None:
        return JobPlan(status, delete=counts.active if end.failed else (), release=counts.release)
    deadline = None
    if started is not None and spec.active_deadline_seconds is not None:
        deadline = times.after(started, spec.active_deadline_seconds)
    if spec.suspend:
        return JobPlan(status, delete=counts.active, release=counts.release)
    wanted = wanted_pods(job, counts)
    surplus = min(max(len(counts.active) - wanted, 0), BURST)
    delete = tuple(first_to_go(counts.active, counts.active, now)[:surplus])
    occupied = len(counts.active)
    if spec.pod_replacement_policy == "Failed":
        occupied += counts.terminating
    create, pause = min(max(wanted - occupied, 0), BURST), _pause_until(pods)
    if create and pause is not None and pause > now:
        create, deadline = 0, pause if deadline is None else min(pause, deadline)
    return JobPlan(status, create, delete, counts.release, deadline, DECOMMISSIONED)


def wanted_pods(job: Job, counts: PodCounts) -> int:
    """How many pods should be active. Without a number of completions, one success is enough."""
    spec = job.spec
    if spec.completions is None:
        return len(counts.active) if counts.succeeded else spec.parallelism
    return max(min(spec.completions - counts.succeeded, spec.parallelism), 0)


def _status(
    job: Job, counts: PodCounts, end: JobEnd | None, started: dt.datetime | None, now: dt.datetime
) -> JobStatus:
    conditions = suspension(job, now)
    completed = None
    if end is not None:
        conditions = with_condition(conditions, end.interim, end, now)
        if not (counts.active or counts.terminating or counts.uncounted.succeeded or counts.uncounted.failed):
            conditions = with_condition(conditions, end.final, end, now)
            completed = None if end.failed else now
    return JobStatus(
        active=len(counts.active),
        ready=counts.ready,
        terminating=counts.terminating,
        succeeded=counts.counted_succeeded,
        failed=counts.counted_failed,
        start_time=started,
        completion_time=completed,
        uncounted_terminated_pods=counts.uncounted,
        conditions=conditions,
    )


def _pause_until(pods: Sequence[Pod]) -> dt.datetime | None:
    """When the next pod may be made: a while after the last of the failures in a row."""
    ended = [(moment, pod) for pod in pods if pod.terminal and (moment := _ended(pod)) is not None]
    row, last = 0, None
    for moment, pod in sorted(ended, key=lambda one: one[0]):
        row, last = (row + 1, moment) if pod.status.phase == "Failed" else (0, None)
    if last is None:
        return None
    return times.after(last, min(FIRST_PAUSE * 2.0 ** min(row - 1, 10), MAX_PAUSE))


def _ended(pod: Pod) -> dt.datetime | None:
    ready = condition(pod.status.conditions, "Ready")
    return (ready and ready.last_transition_time) or pod.metadata.creation_timestamp
