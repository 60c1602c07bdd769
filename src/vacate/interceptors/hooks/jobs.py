"""A turn whose hook is a Job: makes it once, and follows it until it has ended or its time is over."""

from __future__ import annotations

import datetime as dt

from vacate.api.kinds import CRONJOBS, JOBS
from vacate.api.text import plain
from vacate.api.types.batch import Job
from vacate.cache.informer import Informer
from vacate.errors import AlreadyExists, Forbidden, Invalid, NotFound
from vacate.interceptors.decision import Wait
from vacate.interceptors.hooks.annotations import HookRefused, JobHook
from vacate.interceptors.hooks.decision import Deadline, Failed, overdue
from vacate.interceptors.hooks.jobtemplate import job_from, job_name
from vacate.interceptors.hooks.names import JOB_REQUEST
from vacate.interceptors.turns import decided
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.errors import PreparationFailed
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import Finished, OnFailure
from vacate.views.phrases import counted

POLL_INTERVAL_SECONDS = 2.0
"""Seconds between two looks at the cache."""


def hook_jobs(deps: Dependencies) -> Informer[Job]:
    """The Jobs of hooks, in all namespaces."""
    return deps.informers.informer(JOBS, Job, label_selector=JOB_REQUEST)


class JobTurns:
    """Handles turns of Jobs. What becomes of the Job of a turn that is over is for `JobCleanup` to say."""

    def __init__(self, deps: Dependencies, jobs: Informer[Job]) -> None:
        self._client = deps.client
        self._clock = deps.clock
        self._jobs = jobs.reader

    async def run(
        self, context: EvictionContext, hook: JobHook, deadline: Deadline, on_failure: OnFailure
    ) -> Finished:
        """Make the Job, unless it is there, and wait for it; PreparationFailed where that is a failure.

        Errors of the API that may pass are raised as they are: the SDK calls again.
        """
        try:
            job = await self._found(context) or await self._made(context, hook, deadline())
        except HookRefused as error:
            raise PreparationFailed(str(error), on_failure=on_failure) from None

        async def look() -> JobStep:
            return decide_job(job.metadata.name, await self._now(job), self._clock.now(), deadline())

        step: Finished | Failed = await decided(context, self._clock, POLL_INTERVAL_SECONDS, look, deadline())
        if isinstance(step, Finished):
            return step
        raise PreparationFailed(step.why, on_failure=on_failure)

    async def _now(self, job: Job) -> Job | None:
        """The Job by the cache; where that does not have it, by the server."""
        meta = job.metadata
        cached = self._jobs.get(meta.namespace, meta.name)
        if cached is not None and cached.metadata.uid == meta.uid:
            return cached
        live = await self._read(meta.namespace, meta.name)
        return live if live is not None and live.metadata.uid == meta.uid else None

    async def _found(self, context: EvictionContext) -> Job | None:
        """The Job of this turn, from before a restart."""
        found = await self._read(context.pod.metadata.namespace, job_name(context.request))
        if found is not None and found.metadata.labels.get(JOB_REQUEST) != context.request.metadata.uid:
            raise HookRefused(
                f"Job {found.metadata.name} exists already and was not created for this request"
            )
        return found

    async def _read(self, namespace: str, name: str) -> Job | None:
        try:
            return await self._client.get(JOBS, name, namespace, into=Job)
        except NotFound:
            return None
        except Forbidden:
            raise HookRefused(
                f"vacate hooks may not run Jobs in namespace {namespace}; the administrator binds the "
                "ClusterRole vacate-hooks-jobs there"
            ) from None

    async def _made(self, context: EvictionContext, hook: JobHook, deadline: dt.datetime) -> Job:
        pod, request = context.pod, context.request
        namespace = pod.metadata.namespace
        try:
            cron_job = await self._client.get(CRONJOBS, hook.cron_job, namespace)
            job = job_from(
                cron_job,
                pod,
                request,
                reason=context.termination_reason,
                now=self._clock.now(),
                deadline=deadline,
            )
            await self._client.create(JOBS, job, namespace)
        except NotFound:
            raise HookRefused(f"CronJob {namespace}/{hook.cron_job} does not exist") from None
        except Forbidden as error:
            # Quotas and admission policies forbid, too, and their reasons are others.
            raise HookRefused(f"the Job cannot be created: {error}") from None
        except Invalid as error:
            raise HookRefused(f"the template of CronJob {hook.cron_job} makes no Job: {error}") from None
        except AlreadyExists:
            pass  # the answer to an earlier attempt was lost
        made = await self._found(context)
        if made is None:
            raise HookRefused(f"Job {job_name(request)} was deleted as soon as it was created")
        return made


_SHOWN = 300

JobStep = Wait | Finished | Failed


def decide_job(name: str, job: Job | None, now: dt.datetime, deadline: dt.datetime) -> JobStep:
    """Done, failed, or not yet. A Job that is gone before it has ended was stopped by someone."""
    if job is None or job.metadata.deletion_timestamp is not None:
        return Failed(f"Job {name} was deleted before it was complete")
    if job.complete:
        return Finished(f"Job {name} is complete.")
    if (failure := job.failure) is not None:
        why = plain(failure.message, _SHOWN) or failure.reason or "its status gives no reason"
        return Failed(f"Job {name} failed: {plain(why, _SHOWN)}")
    if now >= deadline:
        return overdue(f"Job {name} was not complete", now, deadline)
    status = job.status
    running = f"{counted(status.active, 'pod')} active" if status.active else "no pod is active yet"
    failed = f", {counted(status.failed, 'pod')} failed" if status.failed else ""
    return Wait(f"Job {name}: {running}{failed}.")
