"""Creates and deletes the pods of a workload, with an Event for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from vacate.api.events import EventNote
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import ObjectMeta, Pod
from vacate.errors import ApiError, Conflict, NotFound, VacateError
from vacate.runtime.dependencies import Deps
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key


class PodControl:
    """Writes pods and remembers what the cache must show before the next step. Failures are returned."""

    def __init__(self, deps: Deps, expectations: Expectations) -> None:
        self._deps = deps
        self._expectations = expectations

    async def create(
        self,
        owner: ObjectMeta,
        creating: Awaitable[Obj],
        *,
        created: Callable[[str], EventNote],
        failed: Callable[[VacateError], EventNote],
    ) -> VacateError | None:
        """Wait for the pod that is being created."""
        try:
            pod = await creating
        except VacateError as error:
            if not namespace_terminates(error):
                self._deps.recorder.record(failed(error))
            return error
        self._expectations.created(_key(owner), pod["metadata"]["resourceVersion"])
        self._deps.recorder.record(created(pod["metadata"]["name"]))
        return None

    async def delete(
        self,
        owner: ObjectMeta,
        pod: Pod,
        reason: str = "",
        *,
        deleted: Callable[[str], EventNote],
        failed: Callable[[VacateError], EventNote],
    ) -> VacateError | None:
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
            self._deps.recorder.record(failed(error))
            return error
        self._expectations.deleted(_key(owner), meta.name, meta.uid)
        self._deps.recorder.record(deleted(meta.name))
        return None


def namespace_terminates(error: VacateError) -> bool:
    """A terminating namespace takes no new pods; nothing is to be done or reported about it."""
    return isinstance(error, ApiError) and error.has_cause("NamespaceTerminating")


def _key(owner: ObjectMeta) -> Key:
    return Key(owner.namespace, owner.name)
