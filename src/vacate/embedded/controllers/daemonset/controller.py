"""The DaemonSet controller: compares nodes with pods, plans one step, carries it out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from vacate.api.kinds import DAEMONSETS, NODES, PODS
from vacate.api.types import ControllerRevision, DaemonSet, Node, Pod
from vacate.api.types.apps import DaemonSetStatus
from vacate.cache.indexes import CONTROLLED
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.controllerrevisions.controller import RevisionedController, Step
from vacate.embedded.controllers.controllerrevisions.history import Recorded
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH, hash_of
from vacate.embedded.controllers.daemonset.nodes import new_pod
from vacate.embedded.controllers.daemonset.plan import DaemonSetPlan, counts, plan_pods, pods_by_node
from vacate.embedded.controllers.podcontrol import PodControl, together, unless_namespace_terminates
from vacate.embedded.registry.apps.daemonsets import TEMPLATE_GENERATION
from vacate.errors import VacateError
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Key


def build(deps: Dependencies) -> Controller:
    """The controller, woken by daemon sets, by their pods, and by nodes that come, go or change."""
    pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED)
    controller = DaemonSetController(deps)
    sources = (
        Source(deps.informers.informer(DAEMONSETS, DaemonSet)),
        Source(pods, keys=controller.owners),
        Source(deps.informers.informer(NODES, Node), keys=controller.all_keys, when=_node_changed),
    )
    return Controller("daemonset", controller, sources, deps, workers=2, backoff=retry_backoff())


def _node_changed(old: Node | None, new: Node | None) -> bool:
    """Heartbeats come often and change nothing that matters here."""
    if old is None or new is None:
        return True
    return old.metadata.labels != new.metadata.labels or old.spec != new.spec


class DaemonSetController(RevisionedController[DaemonSet]):
    """Brings a pod to every node that takes one."""

    def __init__(self, deps: Dependencies) -> None:
        super().__init__(deps, DAEMONSETS, DaemonSet)
        self._nodes = deps.informers.informer(NODES, Node).reader
        self._writer = PodWriter(deps, self._expectations, DAEMONSETS)

    def all_keys(self, _: Node) -> Iterable[Key]:
        """Every daemon set: any of them may want the node."""
        return [Key(one.metadata.namespace, one.metadata.name) for one in self._workloads.list()]

    async def step(
        self, workload: DaemonSet, pods: Sequence[Pod], recorded: Recorded, now: dt.datetime
    ) -> Step:
        """One pod on each node that takes one."""
        update = hash_of(recorded.update)
        where = pods_by_node(workload, self._nodes.list(), pods)
        plan = plan_pods(workload, where, update, now)
        error = await self._writer.carry_out(workload, plan, recorded.update)
        status = DaemonSetStatus(
            observed_generation=workload.metadata.generation,
            collision_count=workload.status.collision_count,
            conditions=list(workload.status.conditions),
            **counts(where, update, workload.spec.min_ready_seconds, now),
        )
        used = {update, *(pod.metadata.labels.get(REVISION_HASH, "") for pod in pods)}
        return status, {one.metadata.name for one in recorded.revisions if hash_of(one) in used}, error


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
