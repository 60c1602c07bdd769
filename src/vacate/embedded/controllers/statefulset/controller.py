"""The StatefulSet controller: reads the members, plans one step, carries it out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.kinds import PODS, STATEFULSETS
from vacate.api.types import Pod, StatefulSet
from vacate.cache.indexes import CONTROLLED
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.controllerrevisions.controller import RevisionedController, Step
from vacate.embedded.controllers.controllerrevisions.history import Recorded
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH
from vacate.embedded.controllers.statefulset.plan import plan_members
from vacate.embedded.controllers.statefulset.pods import PodWriter
from vacate.embedded.controllers.statefulset.status import stateful_set_status
from vacate.kube.statefulsets import ordinal_of
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies


def build(deps: Dependencies) -> Controller:
    """The controller, woken by stateful sets and by the pods that are or could be theirs."""
    pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED)
    controller = StatefulSetController(deps)
    sources = (
        Source(deps.informers.informer(STATEFULSETS, StatefulSet)),
        Source(pods, keys=controller.owners),
    )
    return Controller("statefulset", controller, sources, deps, workers=5, backoff=retry_backoff())


class StatefulSetController(RevisionedController[StatefulSet]):
    """Brings each member to its place and to its template."""

    def __init__(self, deps: Dependencies) -> None:
        super().__init__(deps, STATEFULSETS, StatefulSet)
        self._writer = PodWriter(deps, self._expectations, STATEFULSETS)

    def may_own(self, workload: StatefulSet, pod: Pod) -> bool:
        """Members have names with numbers."""
        return ordinal_of(workload, pod) is not None

    async def step(
        self, workload: StatefulSet, pods: Sequence[Pod], recorded: Recorded, now: dt.datetime
    ) -> Step:
        """Members one after another."""
        update = recorded.update.metadata.name
        current = workload.status.current_revision or update
        error = await self._writer.carry_out(workload, plan_members(workload, update, pods, now), recorded)
        status = stateful_set_status(workload, current, update, pods, now)
        live = {current, update, *(pod.metadata.labels.get(REVISION_HASH, "") for pod in pods)}
        return status, live, error
