"""Ends the Jobs of turns that are over: cancelled, timed out, or without their pod.

By the objects alone, so that it does not matter what this process saw of the end: a turn may have ended
while it was down. Jobs that have ended by themselves are left to their time to live.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from vacate.api.events import NORMAL, EventNote, regarding
from vacate.api.kinds import JOBS
from vacate.api.options import DeleteOptions
from vacate.api.types.batch import Job
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.errors import NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import dialect_named, served_dialects
from vacate.interceptors.hooks.jobs import hook_jobs
from vacate.interceptors.hooks.jobtemplate import job_name
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, JOB_REQUEST, JOB_SOURCE
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome
from vacate.sdk.turnstate import ended, is_wanted

log = logging.getLogger(__name__)

NAME = "eviction-hook-jobs"


def build(deps: Dependencies) -> Controller:
    """The controller."""
    jobs = hook_jobs(deps)
    requests = [deps.informers.requests(one) for one in served_dialects(deps.gates)]
    sources: list[Source[EvictionRequest]] = [Source(one, _job_of) for one in requests]
    return Controller(NAME, JobCleanup(deps), [Source(jobs), *sources], deps)


def _job_of(request: EvictionRequest) -> Iterable[Key]:
    return (Key(request.metadata.namespace, job_name(request)),)


class JobCleanup:
    """Reconciles a Job with the request that it was made for."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._jobs = hook_jobs(deps).reader

    async def reconcile(self, key: Key) -> Outcome:
        """Delete the Job if its turn is over and it still runs."""
        job = self._jobs.get(key.namespace, key.name)
        if job is None or job.finished or job.metadata.deletion_timestamp is not None:
            return Done()
        why = await self._over(job)
        if not why:
            return Done()
        meta = job.metadata
        log.info("Job %s/%s is deleted: %s", meta.namespace, meta.name, why)
        try:
            await self._deps.client.delete(
                JOBS, meta.name, meta.namespace, DeleteOptions(uid=meta.uid, propagation_policy="Background")
            )
        except NotFound:
            return Done()
        note = EventNote(regarding(JOBS, job), NORMAL, "HookCancelled", f"The Job is deleted: {why}.")
        self._deps.recorder.record(note)
        return Done()

    async def _over(self, job: Job) -> str:
        """Why the turn is over, by the server itself: a cache may be behind. Empty while it lasts."""
        kind, _, name = job.metadata.annotations.get(JOB_SOURCE, "").partition("/")
        uid = job.metadata.labels.get(JOB_REQUEST, "")
        try:
            dialect = dialect_named(kind)
        except KeyError:
            return ""  # not ours: anyone may write labels
        request = await self._request(dialect, job.metadata.namespace, name)
        end = ended(request, uid, HOOKS_INTERCEPTOR)
        if end is None and request is not None and not is_wanted(request):
            return "the eviction request is cancelled"
        return end.value if end is not None else ""

    async def _request(self, dialect: Dialect, namespace: str, name: str) -> EvictionRequest | None:
        try:
            found: EvictionRequest = dialect.read(
                await self._deps.client.get(dialect.kind, name, namespace, into=dialect.wire)
            )
        except NotFound:
            return None
        return found
