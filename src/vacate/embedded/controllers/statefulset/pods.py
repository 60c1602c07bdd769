"""Makes, deletes and labels the pods of a StatefulSet."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PODS
from vacate.api.objects import Obj
from vacate.api.types import Pod, StatefulSet
from vacate.embedded.controllers.controllerrevisions.history import Recorded
from vacate.embedded.controllers.podcontrol import PodControl, namespace_terminates
from vacate.embedded.controllers.statefulset import events
from vacate.embedded.controllers.statefulset.identity import identity_labels, new_claims, new_pod, pod_name
from vacate.embedded.controllers.statefulset.plan import Creation, Deletion, Plan
from vacate.errors import AlreadyExists, Conflict, NotFound, VacateError
from vacate.kube.patches import guarded
from vacate.kube.statefulsets import ordinal_of
from vacate.runtime.dependencies import Deps
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key


class PodWriter:
    """Carries out plans."""

    def __init__(self, deps: Deps, expectations: Expectations) -> None:
        self._deps = deps
        self._expectations = expectations
        self._control = PodControl(deps, expectations)

    async def carry_out(
        self, stateful_set: StatefulSet, plan: Plan, recorded: Recorded
    ) -> VacateError | None:
        """All of the plan; the first failure is returned after the rest was tried."""
        errors: Sequence[VacateError | None] = await asyncio.gather(
            *(self._create(stateful_set, one, recorded) for one in plan.create),
            *(self._delete(stateful_set, one) for one in plan.delete),
            *(self._relabel(stateful_set, one) for one in plan.relabel),
        )
        return next((error for error in errors if error is not None), None)

    async def _create(
        self, stateful_set: StatefulSet, creation: Creation, recorded: Recorded
    ) -> VacateError | None:
        name = pod_name(stateful_set, creation.ordinal)
        before = recorded.named(stateful_set.status.current_revision)
        revision = recorded.update if creation.updated else before
        # AlreadyExists is a failure too: the old pod, or a stranger, has the name. It is never pushed out of
        # the way.
        error = await self._control.create(
            stateful_set.metadata,
            self._create_with_claims(
                stateful_set, new_pod(stateful_set, revision, creation.ordinal), creation
            ),
            created=lambda _: events.created(stateful_set, name),
            failed=lambda error: events.create_failed(stateful_set, name, error),
        )
        return None if error is not None and namespace_terminates(error) else error

    async def _create_with_claims(self, stateful_set: StatefulSet, body: Obj, creation: Creation) -> Obj:
        await self._create_claims(stateful_set, creation.ordinal)
        return await self._deps.client.create(PODS, body, stateful_set.metadata.namespace)

    async def _create_claims(self, stateful_set: StatefulSet, ordinal: int) -> None:
        """Before the pod that names them; those of an earlier pod of this name are used again."""
        for claim in new_claims(stateful_set, ordinal):
            with contextlib.suppress(AlreadyExists):
                await self._deps.client.create(PERSISTENTVOLUMECLAIMS, claim, stateful_set.metadata.namespace)

    async def _delete(self, stateful_set: StatefulSet, deletion: Deletion) -> VacateError | None:
        name = deletion.pod.metadata.name
        return await self._control.delete(
            stateful_set.metadata,
            deletion.pod,
            deletion.reason,
            deleted=lambda _: events.deleted(stateful_set, name),
            failed=lambda error: events.delete_failed(stateful_set, name, error),
        )

    async def _relabel(self, stateful_set: StatefulSet, pod: Pod) -> VacateError | None:
        meta = pod.metadata
        labels = identity_labels(meta.name, ordinal_of(stateful_set, pod) or 0)
        with contextlib.suppress(NotFound, Conflict):
            patch = guarded(meta, {"metadata": {"labels": labels}})
            written = await self._deps.client.patch(PODS, meta.name, patch, meta.namespace)
            self._expectations.created(_key(stateful_set), written["metadata"]["resourceVersion"])
        return None


def _key(stateful_set: StatefulSet) -> Key:
    return Key(stateful_set.metadata.namespace, stateful_set.metadata.name)
