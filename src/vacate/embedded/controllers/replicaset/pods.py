"""Makes and deletes the pods of a replica set."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vacate.api.kinds import PODS
from vacate.api.types import Pod, ReplicaSet
from vacate.embedded.controllers.podcontrol import PodControl, namespace_terminates
from vacate.embedded.controllers.replicaset import events
from vacate.embedded.controllers.replicaset.replicas import pod_from_template, slow_start
from vacate.errors import VacateError
from vacate.runtime.dependencies import Deps
from vacate.runtime.expectations import Expectations


class PodWriter:
    """Writes the pods that a replica set lacks or has too many of."""

    def __init__(self, deps: Deps, expectations: Expectations) -> None:
        self._deps = deps
        self._control = PodControl(deps, expectations)

    async def make(self, replica_set: ReplicaSet, count: int) -> VacateError | None:
        """Make that many pods in growing batches; the first batch with a failure is the last one."""
        for size in slow_start(count):
            results = await asyncio.gather(*(self._make_one(replica_set) for _ in range(size)))
            failures = [error for error in results if error is not None]
            if failures:
                return None if namespace_terminates(failures[0]) else failures[0]
        return None

    async def _make_one(self, replica_set: ReplicaSet) -> VacateError | None:
        meta = replica_set.metadata
        return await self._control.create(
            meta,
            self._deps.client.create(PODS, pod_from_template(replica_set), meta.namespace),
            created=lambda name: events.created(replica_set, name),
            failed=lambda error: events.create_failed(replica_set, error),
        )

    async def delete(self, replica_set: ReplicaSet, pods: Sequence[Pod], reason: str) -> VacateError | None:
        """Delete these pods, each with its own grace period; return the first failure."""
        results = await asyncio.gather(*(self._delete_one(replica_set, pod, reason) for pod in pods))
        return next((error for error in results if error is not None), None)

    async def _delete_one(self, replica_set: ReplicaSet, pod: Pod, reason: str) -> VacateError | None:
        return await self._control.delete(
            replica_set.metadata,
            pod,
            reason,
            deleted=lambda name: events.deleted(replica_set, name),
            failed=lambda error: events.delete_failed(replica_set, error),
        )
