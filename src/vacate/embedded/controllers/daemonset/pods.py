"""Makes and deletes the pods of a DaemonSet."""

from __future__ import annotations

from vacate.api.types import ControllerRevision, DaemonSet
from vacate.embedded.controllers.daemonset.nodes import new_pod
from vacate.embedded.controllers.daemonset.plan import DaemonSetPlan
from vacate.embedded.controllers.podcontrol import PodControl, together, unless_namespace_terminates
from vacate.embedded.registry.apps.daemonsets import TEMPLATE_GENERATION
from vacate.errors import VacateError


class PodWriter(PodControl):
    """Carries out plans."""

    async def carry_out(
        self, daemon_set: DaemonSet, plan: DaemonSetPlan, revision: ControllerRevision
    ) -> VacateError | None:
        """All of the plan; the first failure is returned after the rest was tried."""
        failures = await together([
            *(self._create(daemon_set, revision, node) for node in plan.create),
            *(self.delete_one(daemon_set, one.pod, one.reason) for one in plan.delete),
        ])  # fmt: skip
        return next(iter(failures), None)

    async def _create(
        self, daemon_set: DaemonSet, revision: ControllerRevision, node: str
    ) -> VacateError | None:
        generation = daemon_set.metadata.annotations.get(TEMPLATE_GENERATION, "")
        body = new_pod(daemon_set, revision, generation, node)
        return unless_namespace_terminates(await self.create(daemon_set, self.send(daemon_set, body)))
