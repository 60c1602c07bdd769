"""Makes, deletes and labels the pods of a StatefulSet."""

from __future__ import annotations

import contextlib

from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PODS
from vacate.api.objects import Obj
from vacate.api.types import Pod, StatefulSet
from vacate.embedded.controllers.claims import Owned
from vacate.embedded.controllers.controllerrevisions.history import Recorded
from vacate.embedded.controllers.podcontrol import PodControl, together, unless_namespace_terminates
from vacate.embedded.controllers.statefulset.identity import identity_labels, new_claims, new_pod, pod_name
from vacate.embedded.controllers.statefulset.plan import Creation, StatefulSetPlan
from vacate.errors import AlreadyExists, Conflict, NotFound, VacateError
from vacate.kube.patches import guarded
from vacate.kube.statefulsets import ordinal_of


class PodWriter(PodControl):
    """Carries out plans."""

    async def carry_out(
        self, stateful_set: StatefulSet, plan: StatefulSetPlan, recorded: Recorded
    ) -> VacateError | None:
        """All of the plan; the first failure is returned after the rest was tried."""
        failures = await together([
            *(self._create(stateful_set, one, recorded) for one in plan.create),
            *(self.delete_one(stateful_set, one.pod, one.reason) for one in plan.delete),
            *(self._relabel(stateful_set, one) for one in plan.relabel),
        ])  # fmt: skip
        return next(iter(failures), None)

    def message(self, owner: Owned, verb: str, pod: str, error: VacateError | None) -> str:
        """What the Event says, other than those about pods of other kinds."""
        result = "successful" if error is None else f"failed error: {error}"
        return f"{verb.lower()} Pod {pod} in StatefulSet {owner.metadata.name} {result}"

    async def _create(
        self, stateful_set: StatefulSet, creation: Creation, recorded: Recorded
    ) -> VacateError | None:
        name = pod_name(stateful_set, creation.ordinal)
        before = recorded.named(stateful_set.status.current_revision)
        revision = recorded.update if creation.updated else before
        # AlreadyExists is a failure too: the old pod, or a stranger, has the name. It is never pushed out of
        # the way.
        body = new_pod(stateful_set, revision, creation.ordinal)
        creating = self._create_with_claims(stateful_set, body, creation)
        return unless_namespace_terminates(await self.create(stateful_set, creating, name))

    async def _create_with_claims(self, stateful_set: StatefulSet, body: Obj, creation: Creation) -> Obj:
        await self._create_claims(stateful_set, creation.ordinal)
        return await self.send(stateful_set, body)

    async def _create_claims(self, stateful_set: StatefulSet, ordinal: int) -> None:
        """Before the pod that names them; those of an earlier pod of this name are used again."""
        for claim in new_claims(stateful_set, ordinal):
            with contextlib.suppress(AlreadyExists):
                await self._deps.client.create(PERSISTENTVOLUMECLAIMS, claim, stateful_set.metadata.namespace)

    async def _relabel(self, stateful_set: StatefulSet, pod: Pod) -> VacateError | None:
        meta = pod.metadata
        labels = identity_labels(meta.name, ordinal_of(stateful_set, pod) or 0)
        with contextlib.suppress(NotFound, Conflict):
            patch = guarded(meta, {"metadata": {"labels": labels}})
            written = await self._deps.client.patch(PODS, meta.name, patch, meta.namespace)
            self.expect(stateful_set, written["metadata"]["resourceVersion"])
        return None
