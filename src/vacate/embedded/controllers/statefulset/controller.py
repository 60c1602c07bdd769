"""The StatefulSet controller: reads the members, plans one step, carries it out."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Sequence

import msgspec

from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.api.types import Pod, StatefulSet
from vacate.api.types.apps import StatefulSetStatus
from vacate.cache.indexes import CONTROLLED
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.claims import Owned
from vacate.embedded.controllers.controllerrevisions.controller import RevisionedController, Step
from vacate.embedded.controllers.controllerrevisions.history import Recorded
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH
from vacate.embedded.controllers.podcontrol import PodControl, together, unless_namespace_terminates
from vacate.embedded.controllers.statefulset.identity import identity_labels, new_claims, new_pod, pod_name
from vacate.embedded.controllers.statefulset.plan import Creation, StatefulSetPlan, plan_members
from vacate.errors import AlreadyExists, Conflict, NotFound, VacateError
from vacate.kube.availability import is_available
from vacate.kube.patches import guarded
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


def stateful_set_status(
    stateful_set: StatefulSet, current: str, update: str, pods: Sequence[Pod], now: dt.datetime
) -> StatefulSetStatus:
    """The status that fits these pods; `current` and `update` are names of revisions."""
    members = [pod for pod in pods if ordinal_of(stateful_set, pod) is not None]
    ready = [pod for pod in members if pod.status.phase == "Running" and pod.ready]
    wait = stateful_set.spec.min_ready_seconds
    remaining = [pod for pod in members if not pod.terminating]
    status = StatefulSetStatus(
        observed_generation=stateful_set.metadata.generation,
        replicas=len(members),
        ready_replicas=len(ready),
        available_replicas=sum(is_available(pod, wait, now) for pod in ready),
        current_replicas=_of_revision(remaining, current),
        updated_replicas=_of_revision(remaining, update),
        current_revision=current,
        update_revision=update,
        collision_count=stateful_set.status.collision_count,
        conditions=list(stateful_set.status.conditions),
    )
    return _completed(stateful_set, status)


def _of_revision(pods: Sequence[Pod], revision: str) -> int:
    return sum(pod.metadata.labels.get(REVISION_HASH) == revision for pod in pods)


def _completed(stateful_set: StatefulSet, status: StatefulSetStatus) -> StatefulSetStatus:
    """After the last pod of a rolling update the new revision is the current one."""
    wanted = stateful_set.spec.replicas
    done = status.updated_replicas == status.ready_replicas == status.replicas == wanted
    if stateful_set.spec.update_strategy.type != "RollingUpdate" or not done:
        return status
    return msgspec.structs.replace(
        status, current_revision=status.update_revision, current_replicas=status.updated_replicas
    )
