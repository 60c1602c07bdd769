"""Makes and deletes the pods of a Job, and lets go of those whose end is on record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from vacate.api.kinds import JOBS, PODS
from vacate.api.types import Job, ObjectMeta, Pod
from vacate.client.client import Client
from vacate.embedded.controllers.job.tracking import FINALIZER
from vacate.embedded.controllers.podcontrol import PodControl
from vacate.embedded.controllers.replicaset.replicas import pod_name_prefix
from vacate.errors import NotFound
from vacate.kube.ownership import controller_reference
from vacate.kube.patches import guarded


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


class PodWriter(PodControl):
    """Writes the pods that a Job lacks or has too many of."""

    async def release(self, job: Job, pods: Sequence[Pod]) -> None:
        """Take the finalizers off pods whose end is on record."""
        for version in await asyncio.gather(*(release(self._deps.client, pod.metadata) for pod in pods)):
            if version:
                self.expect(job, version)
