"""Makes and deletes the pods of a DaemonSet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vacate.api.kinds import PODS
from vacate.api.types import ControllerRevision, DaemonSet
from vacate.embedded.controllers.daemonset import events
from vacate.embedded.controllers.daemonset.nodes import new_pod
from vacate.embedded.controllers.daemonset.plan import Deletion, Plan
from vacate.embedded.registry.apps.daemonsets import TEMPLATE_GENERATION
from vacate.errors import ApiError, Conflict, NotFound, VacateError
from vacate.runtime.dependencies import Deps
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key

_NAMESPACE_TERMINATES = "NamespaceTerminating"


class PodWriter:
    """Writes pods and remembers what the cache must show before the next step."""

    def __init__(self, deps: Deps, expectations: Expectations) -> None:
        self._deps = deps
        self._expectations = expectations

    async def carry_out(
        self, daemon_set: DaemonSet, plan: Plan, revision: ControllerRevision
    ) -> VacateError | None:
        """All of the plan; the first failure is returned after the rest was tried."""
        errors: Sequence[VacateError | None] = await asyncio.gather(
            *(self._create(daemon_set, revision, node) for node in plan.create),
            *(self._delete(daemon_set, one) for one in plan.delete),
        )
        return next((error for error in errors if error is not None), None)

    async def _create(
        self, daemon_set: DaemonSet, revision: ControllerRevision, node: str
    ) -> VacateError | None:
        meta = daemon_set.metadata
        generation = meta.annotations.get(TEMPLATE_GENERATION, "")
        try:
            body = new_pod(daemon_set, revision, generation, node)
            pod = await self._deps.client.create(PODS, body, meta.namespace)
        except VacateError as error:
            if isinstance(error, ApiError) and error.has_cause(_NAMESPACE_TERMINATES):
                return None
            self._deps.recorder.record(events.create_failed(daemon_set, error))
            return error
        self._expectations.created(_key(daemon_set), pod["metadata"]["resourceVersion"])
        self._deps.recorder.record(events.created(daemon_set, pod["metadata"]["name"]))
        return None

    async def _delete(self, daemon_set: DaemonSet, deletion: Deletion) -> VacateError | None:
        meta = deletion.pod.metadata
        try:
            await self._deps.client.delete(
                PODS, meta.name, meta.namespace, uid=meta.uid, reason=deletion.reason
            )
        except NotFound:
            return None
        except Conflict as error:
            return error  # another pod has its name, or another write came first: the cache will say which
        except VacateError as error:
            self._deps.recorder.record(events.delete_failed(daemon_set, error))
            return error
        self._expectations.deleted(_key(daemon_set), meta.name, meta.uid)
        self._deps.recorder.record(events.deleted(daemon_set, meta.name))
        return None


def _key(daemon_set: DaemonSet) -> Key:
    return Key(daemon_set.metadata.namespace, daemon_set.metadata.name)
