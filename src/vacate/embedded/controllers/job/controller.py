"""The Job controller: counts pods, plans one step, writes the status, carries the step out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from vacate.api import times
from vacate.api.kinds import JOBS, PODS
from vacate.api.options import DeleteOptions
from vacate.api.types import Job, Pod, condition
from vacate.api.types.batch import JobStatus
from vacate.cache.indexes import CONTROLLED, CONTROLLER
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.job import events
from vacate.embedded.controllers.job.conditions import COMPLETE, FAILED
from vacate.embedded.controllers.job.plan import JobPlan, plan_job
from vacate.embedded.controllers.job.pods import PodWriter, new_pod
from vacate.errors import Conflict, NotFound
from vacate.kube.patches import condition_differences, guarded, status_difference
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Done, Key, Later, Outcome

MANAGED_BY = "kubernetes.io/job-controller"
INDEXED = "Indexed"


def build(deps: Dependencies) -> Controller:
    """The controller, woken by Jobs and by their pods."""
    pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED)
    sources = (Source(deps.informers.informer(JOBS, Job)), Source(pods, keys=owner_key))
    return Controller("job", JobController(deps), sources, deps, workers=5, backoff=retry_backoff())


def owner_key(pod: Pod) -> Iterable[Key]:
    """The Job that manages the pod."""
    ref = pod.metadata.controller
    return (Key(pod.metadata.namespace, ref.name),) if ref and ref.kind == JOBS.kind else ()


class JobController:
    """Brings each Job to its end, and removes it when its time to live after that is over."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._jobs = deps.informers.informer(JOBS, Job).reader
        self._expectations = Expectations(deps.clock)
        self._written = Expectations(deps.clock)  # counts must not be made on a status from before
        self._writer = PodWriter(deps, self._expectations, JOBS)

    async def reconcile(self, key: Key) -> Outcome:
        """Plan on what the caches show, once they show all of the last step's effects."""
        job = self._jobs.get(*key)
        if job is None:
            self._expectations.forget(key)
            self._written.forget(key)
            return Done()
        if job.spec.managed_by not in ("", MANAGED_BY):
            return Done()
        if job.spec.completion_mode == INDEXED:
            self._deps.recorder.record(events.indexed(job))
            return Done()
        if job.finished and job.metadata.deletion_timestamp is None:
            return await self._expire(job)
        for expected, reader in ((self._expectations, self._pods), (self._written, self._jobs)):
            if not expected.satisfied(key, reader):
                return Later(expected.expiry(key))
        pods = list(self._pods.by_index(CONTROLLER, job.metadata.uid))
        return await self._step(key, job, plan_job(job, pods, self._deps.clock.now()))

    async def _step(self, key: Key, job: Job, plan: JobPlan) -> Outcome:
        if not await self._write_status(key, job, plan.status):
            return Done()
        await self._writer.release(job, plan.release)
        error = await self._writer.delete(job, plan.delete, plan.reason)
        error = await self._writer.make(job, plan.create, lambda: new_pod(job)) or error
        if error is not None:
            raise error
        return Done() if plan.at is None else Later(plan.at)

    async def _write_status(self, key: Key, job: Job, status: JobStatus) -> bool:
        """Write what differs; False where the Job is gone."""
        difference = status_difference(job.status, status)
        if not difference:
            return True
        if "uncountedTerminatedPods" in difference:
            pods = status.uncounted_terminated_pods
            found = {"succeeded": pods and pods.succeeded, "failed": pods and pods.failed}
            difference["uncountedTerminatedPods"] = {name: uids or None for name, uids in found.items()}
        if "conditions" in difference:  # all of them, so that they stay in the order in which they came
            difference["conditions"] = condition_differences((), status.conditions)
        meta, patch = job.metadata, guarded(job.metadata, {"status": difference})
        try:
            written = await self._deps.client.patch_status(JOBS, meta.name, patch, meta.namespace)
        except NotFound:
            return False
        self._written.created(key, written["metadata"]["resourceVersion"])
        for one in status.conditions:
            if one not in job.status.conditions and (note := events.of_condition(job, one)) is not None:
                self._deps.recorder.record(note)
        return True

    async def _expire(self, job: Job) -> Outcome:
        """Remove a finished Job when nobody needs it any more, with its pods."""
        end = condition(job.status.conditions, COMPLETE) or condition(job.status.conditions, FAILED)
        seconds, meta = job.spec.ttl_seconds_after_finished, job.metadata
        if seconds is None or end is None or end.last_transition_time is None:
            return Done()
        at = times.after(end.last_transition_time, seconds)
        if at > self._deps.clock.now():
            return Later(at)
        with contextlib.suppress(NotFound, Conflict):
            await self._deps.client.delete(
                JOBS, meta.name, meta.namespace, DeleteOptions(uid=meta.uid, propagation_policy="Foreground")
            )
        return Done()
