"""Makes and deletes the pods of a DaemonSet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vacate.api.kinds import PODS
from vacate.api.types import ControllerRevision, DaemonSet
from vacate.embedded.controllers.daemonset import events
from vacate.embedded.controllers.daemonset.nodes import new_pod
from vacate.embedded.controllers.daemonset.plan import Deletion, Plan
from vacate.embedded.controllers.podcontrol import PodControl, namespace_terminates
from vacate.embedded.registry.apps.daemonsets import TEMPLATE_GENERATION
from vacate.errors import VacateError
from vacate.runtime.dependencies import Deps
from vacate.runtime.expectations import Expectations


class PodWriter:
    """Carries out plans."""

    def __init__(self, deps: Deps, expectations: Expectations) -> None:
        self._deps = deps
        self._control = PodControl(deps, expectations)

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
        body = new_pod(daemon_set, revision, generation, node)
        error = await self._control.create(
            meta,
            self._deps.client.create(PODS, body, meta.namespace),
            created=lambda name: events.created(daemon_set, name),
            failed=lambda error: events.create_failed(daemon_set, error),
        )
        return None if error is not None and namespace_terminates(error) else error

    async def _delete(self, daemon_set: DaemonSet, deletion: Deletion) -> VacateError | None:
        return await self._control.delete(
            daemon_set.metadata,
            deletion.pod,
            deletion.reason,
            deleted=lambda name: events.deleted(daemon_set, name),
            failed=lambda error: events.delete_failed(daemon_set, error),
        )
