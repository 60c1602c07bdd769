"""Makes and deletes the pods of a replica set."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vacate.api.kinds import PODS
from vacate.api.types import Pod, ReplicaSet
from vacate.embedded.controllers.replicaset import events
from vacate.embedded.controllers.replicaset.replicas import pod_from_template, slow_start
from vacate.errors import ApiError, Conflict, NotFound, VacateError
from vacate.runtime.dependencies import Deps
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key

_NAMESPACE_TERMINATING = "NamespaceTerminating"


class PodWriter:
    """Writes pods and remembers what the cache must show before the next count."""

    def __init__(self, deps: Deps, expectations: Expectations) -> None:
        self._deps = deps
        self._expectations = expectations

    async def make(self, replica_set: ReplicaSet, count: int) -> VacateError | None:
        """Make that many pods in growing batches; the first batch with a failure is the last one."""
        for size in slow_start(count):
            results = await asyncio.gather(*(self._make_one(replica_set) for _ in range(size)))
            failures = [error for error in results if error is not None]
            if failures:
                return None if _hopeless(failures[0]) else failures[0]
        return None

    async def _make_one(self, replica_set: ReplicaSet) -> VacateError | None:
        meta = replica_set.metadata
        try:
            pod = await self._deps.client.create(PODS, pod_from_template(replica_set), meta.namespace)
        except VacateError as error:
            if not _hopeless(error):
                self._deps.recorder.record(events.create_failed(replica_set, error))
            return error
        self._expectations.created(Key(meta.namespace, meta.name), pod["metadata"]["resourceVersion"])
        self._deps.recorder.record(events.created(replica_set, pod["metadata"]["name"]))
        return None

    async def delete(self, replica_set: ReplicaSet, pods: Sequence[Pod], reason: str) -> VacateError | None:
        """Delete these pods, each with its own grace period; return the first failure."""
        results = await asyncio.gather(*(self._delete_one(replica_set, pod, reason) for pod in pods))
        return next((error for error in results if error is not None), None)

    async def _delete_one(self, replica_set: ReplicaSet, pod: Pod, reason: str) -> VacateError | None:
        meta = pod.metadata
        try:
            await self._deps.client.delete(PODS, meta.name, meta.namespace, uid=meta.uid, reason=reason)
        except NotFound:
            return None
        except Conflict as error:
            return error  # another pod has its name, or another write came first: the cache will say which
        except VacateError as error:
            self._deps.recorder.record(events.delete_failed(replica_set, error))
            return error
        owner = Key(replica_set.metadata.namespace, replica_set.metadata.name)
        self._expectations.deleted(owner, meta.name, meta.uid)
        self._deps.recorder.record(events.deleted(replica_set, meta.name))
        return None


def _hopeless(error: VacateError) -> bool:
    """A terminating namespace takes no new pods; nothing is to be done or reported about it."""
    return isinstance(error, ApiError) and error.has_cause(_NAMESPACE_TERMINATING)
