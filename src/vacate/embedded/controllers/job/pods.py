"""Makes and deletes the pods of a Job, and lets go of those whose end is on record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from vacate.api.kinds import JOBS, PODS
from vacate.api.types import Job, ObjectMeta, Pod
from vacate.client.client import Client
from vacate.embedded.controllers.job import events
from vacate.embedded.controllers.job.tracking import FINALIZER
from vacate.embedded.controllers.podcontrol import PodControl, namespace_terminates
from vacate.embedded.controllers.replicaset.replicas import pod_name_prefix, slow_start
from vacate.errors import NotFound, VacateError
from vacate.kube.ownership import controller_reference
from vacate.kube.patches import guarded
from vacate.runtime.dependencies import Deps
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key


def new_pod(job: Job) -> dict[str, Any]:
    """A new pod of the Job, to be named by the server."""
    given = job.spec.template.get("metadata") or {}
    metadata: dict[str, Any] = {
        "generateName": pod_name_prefix(job.metadata.name),
        "namespace": job.metadata.namespace,
        "ownerReferences": [controller_reference(JOBS, job.metadata)],
        "finalizers": [*(given.get("finalizers") or ()), FINALIZER],
    }
    metadata |= {key: given[key] for key in ("labels", "annotations") if given.get(key)}
    spec = job.spec.template.get("spec") or {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def release(client: Client, meta: ObjectMeta) -> str:
    """Take the finalizer off; returns the resourceVersion, or nothing where the pod is gone."""
    kept = [one for one in meta.finalizers if one != FINALIZER]
    patch = guarded(meta, {"metadata": {"finalizers": kept or None}})
    try:
        written = await client.patch(PODS, meta.name, patch, meta.namespace)
    except NotFound:
        return ""
    return str(written["metadata"]["resourceVersion"])


class PodWriter:
    """Writes the pods that a Job lacks or has too many of."""

    def __init__(self, deps: Deps, expectations: Expectations) -> None:
        self._deps = deps
        self._expectations = expectations
        self._control = PodControl(deps, expectations)

    async def make(self, job: Job, count: int) -> VacateError | None:
        """Make that many pods in growing batches; the first batch with a failure is the last one."""
        for size in slow_start(count):
            results = await asyncio.gather(*(self._make_one(job) for _ in range(size)))
            failures = [error for error in results if error is not None]
            if failures:
                return None if namespace_terminates(failures[0]) else failures[0]
        return None

    async def delete(self, job: Job, pods: Sequence[Pod], reason: str) -> VacateError | None:
        """Delete these pods, each with its own grace period; return the first failure."""
        results = await asyncio.gather(*(self._delete_one(job, pod, reason) for pod in pods))
        return next((error for error in results if error is not None), None)

    async def release(self, job: Job, pods: Sequence[Pod]) -> None:
        """Take the finalizers off pods whose end is on record."""
        for version in await asyncio.gather(*(release(self._deps.client, pod.metadata) for pod in pods)):
            if version:
                self._expectations.created(_key(job), version)

    async def _make_one(self, job: Job) -> VacateError | None:
        return await self._control.create(
            job.metadata,
            self._deps.client.create(PODS, new_pod(job), job.metadata.namespace),
            created=lambda name: events.created(job, name),
            failed=lambda error: events.create_failed(job, error),
        )

    async def _delete_one(self, job: Job, pod: Pod, reason: str) -> VacateError | None:
        return await self._control.delete(
            job.metadata,
            pod,
            reason,
            deleted=lambda name: events.deleted(job, name),
            failed=lambda error: events.delete_failed(job, error),
        )


def _key(job: Job) -> Key:
    return Key(job.metadata.namespace, job.metadata.name)
