"""PURE. How the ends of pods are counted once each, whatever crashes.

A pod of a Job has a finalizer until its end is in the Job's status. A UID is first written to
`uncountedTerminatedPods`; then the pod loses its finalizer; when that shows, the UID becomes part of a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.types import Job, Pod
from vacate.api.types.batch import UncountedPods
from vacate.kube.deletionorder import is_active

FINALIZER = "batch.kubernetes.io/job-tracking"


@dataclass(frozen=True, slots=True)
class PodCounts:
    """What the pods of a Job say, with all that was counted before."""

    active: tuple[Pod, ...]
    terminating: int
    ready: int
    succeeded: int  # in the counts, those not yet in them included
    failed: int
    counted_succeeded: int  # what the status may say
    counted_failed: int
    uncounted: UncountedPods
    release: tuple[Pod, ...]  # their end is on record as soon as the status is written


def is_tracked(pod: Pod) -> bool:
    """Whether the end of the pod is still to be counted."""
    return FINALIZER in pod.metadata.finalizers


def has_failed(job: Job, pod: Pod) -> bool:
    """Whether the pod counts as a failure. Where pods are replaced early, one that is deleted does."""
    if pod.status.phase == "Failed":
        return True
    if not pod.terminating or pod.status.phase == "Succeeded":
        return False
    return job.spec.pod_replacement_policy != "Failed" or not pod.spec.node_name


def count_pods(job: Job, pods: Sequence[Pod]) -> PodCounts:
    """Count what has ended since the status was written."""
    status = job.status
    before = status.uncounted_terminated_pods or UncountedPods()
    tracked = {pod.metadata.uid: pod for pod in pods if is_tracked(pod)}
    known = {*before.succeeded, *before.failed}
    fresh = [pod for uid, pod in tracked.items() if uid not in known]
    succeeded = [pod.metadata.uid for pod in fresh if pod.status.phase == "Succeeded"]
    failed = [pod.metadata.uid for pod in fresh if has_failed(job, pod)]
    uncounted = UncountedPods(
        succeeded=[*(uid for uid in before.succeeded if uid in tracked), *succeeded],
        failed=[*(uid for uid in before.failed if uid in tracked), *failed],
    )
    settled_succeeded = status.succeeded + sum(uid not in tracked for uid in before.succeeded)
    settled_failed = status.failed + sum(uid not in tracked for uid in before.failed)
    active = tuple(filter(is_active, pods))
    return PodCounts(
        active=active,
        terminating=sum(pod.terminating and not pod.terminal for pod in pods),
        ready=sum(pod.ready for pod in active),
        succeeded=settled_succeeded + len(uncounted.succeeded),
        failed=settled_failed + len(uncounted.failed),
        counted_succeeded=settled_succeeded,
        counted_failed=settled_failed,
        uncounted=uncounted,
        release=tuple(tracked[uid] for uid in (*uncounted.succeeded, *uncounted.failed)),
    )
