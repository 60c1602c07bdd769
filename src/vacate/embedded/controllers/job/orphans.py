"""Lets go of pods whose Job is gone: nobody counts their end, and their finalizer would hold them."""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.kinds import JOBS, PODS
from vacate.api.types import Job, Pod
from vacate.cache.indexes import CONTROLLED, CONTROLLER
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.job.pods import release
from vacate.embedded.controllers.job.tracking import is_tracked
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by pods with the finalizer, and by Jobs that go."""
    pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED)
    jobs = deps.informers.informer(JOBS, Job)
    controller = OrphanController(deps)
    sources = (
        Source(pods, when=lambda _, new: new is not None and is_tracked(new)),
        Source(jobs, keys=controller.pods_of, when=lambda _, new: new is None),
    )
    return Controller("job-orphans", controller, sources, deps, backoff=retry_backoff())


class OrphanController:
    """Takes the finalizer off pods that no Job controls."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._jobs = deps.informers.informer(JOBS, Job).reader

    def pods_of(self, job: Job) -> Iterable[Key]:
        """The pods of a Job."""
        found = self._pods.by_index(CONTROLLER, job.metadata.uid)
        return [Key(pod.metadata.namespace, pod.metadata.name) for pod in found]

    async def reconcile(self, key: Key) -> Outcome:
        """Release the pod unless its Job is there."""
        pod = self._pods.get(*key)
        if pod is None or not is_tracked(pod):
            return Done()
        ref = pod.metadata.controller
        job = self._jobs.get(key.namespace, ref.name) if ref and ref.kind == JOBS.kind else None
        if job is None or ref is None or job.metadata.uid != ref.uid:
            await release(self._deps.client, pod.metadata)
        return Done()
