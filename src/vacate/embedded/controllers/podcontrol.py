"""Creates and deletes the pods of a workload, with an Event for each, in the words of Kubernetes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import PODS, Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import Pod
from vacate.embedded.controllers.claims import Owned
from vacate.embedded.controllers.replicaset.replicas import slow_start
from vacate.errors import ApiError, Conflict, NotFound, VacateError
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key


class PodControl:
    """Writes pods and remembers what the cache must show before the next step. Failures are returned."""

    def __init__(self, deps: Dependencies, expectations: Expectations, owners: Kind) -> None:
        self._deps = deps
        self._expectations = expectations
        self._owners = owners

    async def make(self, owner: Owned, count: int, new_pod: Callable[[], Obj]) -> VacateError | None:
        """Make that many pods in growing batches; the first batch with a failure is the last one."""
        for size in slow_start(count):
            failures = await together(self.create(owner, self.send(owner, new_pod())) for _ in range(size))
            if failures:
                return None if _namespace_terminates(failures[0]) else failures[0]
        return None

    async def send(self, owner: Owned, pod: Obj) -> Obj:
        """The request for a pod."""
        return await self._deps.client.create(PODS, pod, owner.metadata.namespace)

    async def create(self, owner: Owned, creating: Awaitable[Obj], name: str = "") -> VacateError | None:
        """Wait for the pod that is being created, whose name the server may choose."""
        try:
            pod = await creating
        except VacateError as error:
            if not _namespace_terminates(error):
                self._record(owner, "Create", name, error)
            return error
        self.expect(owner, pod["metadata"]["resourceVersion"])
        self._record(owner, "Create", pod["metadata"]["name"])
        return None

    async def delete(self, owner: Owned, pods: Sequence[Pod], reason: str) -> VacateError | None:
        """Delete these pods, each with its own grace period; the first failure."""
        failures = await together(self.delete_one(owner, pod, reason) for pod in pods)
        return next(iter(failures), None)

    async def delete_one(self, owner: Owned, pod: Pod, reason: str = "") -> VacateError | None:
        """Delete this pod and no other of its name, with its own grace period."""
        meta = pod.metadata
        try:
            await self._deps.client.delete(
                PODS, meta.name, meta.namespace, DeleteOptions(uid=meta.uid, reason=reason)
            )
        except NotFound:
            return None
        except Conflict as error:
            return error  # another pod has its name, or another write came first: the cache will say which
        except VacateError as error:
            self._record(owner, "Delete", meta.name, error)
            return error
        self._expectations.deleted(_key(owner), meta.name, meta.uid)
        self._record(owner, "Delete", meta.name)
        return None

    def expect(self, owner: Owned, version: str) -> None:
        """A pod of the owner was written with this version."""
        self._expectations.created(_key(owner), version)

    def message(self, owner: Owned, verb: str, pod: str, error: VacateError | None) -> str:
        """What the Event says."""
        return f"{verb}d pod: {pod}" if error is None else f"Error {verb[:-1].lower()}ing: {error}"

    def _record(self, owner: Owned, verb: str, pod: str, error: VacateError | None = None) -> None:
        about, message = regarding(self._owners, owner), self.message(owner, verb, pod, error)
        kind, reason = (NORMAL, f"Successful{verb}") if error is None else (WARNING, f"Failed{verb}")
        self._deps.recorder.record(EventNote(about, kind, reason, message))


async def together(steps: Iterable[Awaitable[VacateError | None]]) -> list[VacateError]:
    """The failures of steps that are done at once."""
    return [error for error in await asyncio.gather(*steps) if error is not None]


def unless_namespace_terminates(error: VacateError | None) -> VacateError | None:
    """A terminating namespace takes no new pods; nothing is to be done or reported about it."""
    return None if error is not None and _namespace_terminates(error) else error


def _namespace_terminates(error: VacateError) -> bool:
    return isinstance(error, ApiError) and error.has_cause("NamespaceTerminating")


def _key(owner: Owned) -> Key:
    return Key(owner.metadata.namespace, owner.metadata.name)
