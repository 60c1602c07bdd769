"""The disruption controller: how many pods of each budget may be disrupted now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vacate.api.kinds import DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS, REPLICASETS, Kind
from vacate.api.types import Deployment, OwnerReference, Pod, PodDisruptionBudget, ReplicaSet
from vacate.cache.indexes import LABELLED, SELECTING, budgets_of, selected
from vacate.cache.reader import Reader
from vacate.client.client import Client
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.disruption import events
from vacate.embedded.controllers.disruption.budget import (
    BudgetStatus,
    ControllerScale,
    ScaleOf,
    SyncFailure,
    budget_status,
    expected_pods,
)
from vacate.embedded.controllers.selectors import Selectors
from vacate.embedded.controllers.status import write_status
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.errors import ApiError, NotFound
from vacate.kube.ownership import group_of, refers_to
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome

Sized = Deployment | ReplicaSet


def build(deps: Dependencies) -> Controller:
    """The controller, woken by budgets, by pods, and by controllers that want another number of pods."""
    pods = deps.informers.informer(PODS, Pod, indexes=LABELLED)
    budgets = deps.informers.informer(PODDISRUPTIONBUDGETS, PodDisruptionBudget, indexes=SELECTING)
    deployments = deps.informers.informer(DEPLOYMENTS, Deployment)
    replica_sets = deps.informers.informer(REPLICASETS, ReplicaSet)
    controller = DisruptionController(deps)
    pods.subscribe(controller.on_pod)
    sources = (
        Source(budgets),
        Source(pods, keys=controller.budgets_of, when=_counts_otherwise),
        Source(deployments, keys=controller.budgets_near, when=_resized),
        Source(replica_sets, keys=controller.budgets_near, when=_resized),
    )
    return Controller("disruption", controller, sources, deps, backoff=retry_backoff())


def _resized(old: Sized | None, new: Sized | None) -> bool:
    return old is None or new is None or old.spec.replicas != new.spec.replicas


def _counts_otherwise(old: Pod | None, new: Pod | None) -> bool:
    """Whether any budget could count the pod in another way than before."""
    if old is None or new is None or old.metadata.uid != new.metadata.uid:
        return True
    return (
        old.ready != new.ready
        or old.terminating != new.terminating
        or old.metadata.labels != new.metadata.labels
        or old.metadata.owner_references != new.metadata.owner_references
    )


class DisruptionController:
    """Counts pods for budgets."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._selectors = Selectors()
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._budgets = deps.informers.informer(
            PODDISRUPTIONBUDGETS, PodDisruptionBudget, indexes=SELECTING
        ).reader
        self._scales = Scales(
            deps.client,
            deps.informers.informer(REPLICASETS, ReplicaSet).reader,
            deps.informers.informer(DEPLOYMENTS, Deployment).reader,
        )

    def budgets_of(self, pod: Pod) -> list[Key]:
        """Every budget that selects the pod, not only one of them: each has its own count."""
        found = budgets_of(self._budgets, pod.metadata.namespace, pod.metadata.labels)
        return [Key(one.metadata.namespace, one.metadata.name) for one in found]

    def budgets_near(self, obj: Sized) -> Iterable[Key]:
        """The budgets of the namespace."""
        found = self._budgets.list(obj.metadata.namespace)
        return [Key(one.metadata.namespace, one.metadata.name) for one in found]

    def on_pod(self, old: Pod | None, new: Pod | None) -> None:
        """Warn once for each pod that several budgets claim."""
        if old is None and new is not None:
            budgets = self.budgets_of(new)
            if len(budgets) > 1:
                self._deps.recorder.record(events.several_budgets(new, budgets[0].name))

    async def reconcile(self, key: Key) -> Outcome:
        """Count anew, write what changed, and come back when a believed disruption runs out."""
        budget = self._budgets.get(*key)
        if budget is None:
            self._selectors.forget(key)
            return Done()
        selector = self._selectors.of(budget.metadata, budget.spec.selector)
        pods = selected(self._pods, key.namespace, selector)
        scale_of = await self._scales.behind(pods)
        now = self._deps.clock.now()
        result = budget_status(budget, pods, expected_pods(budget, pods, scale_of), now)
        await self._write(budget, result)
        return Done() if result.recheck_at is None else Later(result.recheck_at)

    async def _write(self, budget: PodDisruptionBudget, result: BudgetStatus) -> None:
        """Events go with a change of the status: a count that says the same tells nothing new."""
        if not result.changed:
            return
        for event in result.events:
            self._deps.recorder.record(events.about(budget, event))
        # Its guard matters: an eviction that was approved since the budget was read must not be forgotten.
        await write_status(
            self._deps.client, PODDISRUPTIONBUDGETS, budget.metadata, budget.status, result.status
        )


Found = ControllerScale | SyncFailure | None


class Scales:
    """Deployments and replica sets from the cache, anything else through its scale subresource."""

    def __init__(
        self, client: Client, replica_sets: Reader[ReplicaSet], deployments: Reader[Deployment]
    ) -> None:
        self._client = client
        self._replica_sets = replica_sets
        self._deployments = deployments

    async def behind(self, pods: Sequence[Pod]) -> ScaleOf:
        """Look up every controller once; the answers can then be asked for without waiting."""
        answers: dict[str, Found] = {}
        for pod in pods:
            ref = pod.metadata.controller
            if ref is not None and ref.uid not in answers:
                answers[ref.uid] = await self._find(ref, pod.metadata.namespace)
        return lambda ref, _: answers[ref.uid]

    async def _find(self, ref: OwnerReference, namespace: str) -> Found:
        return self._cached(ref, namespace) or await self._ask(ref, namespace)

    def _cached(self, ref: OwnerReference, namespace: str) -> ControllerScale | None:
        replica_set = self._replica_sets.get(namespace, ref.name)
        if replica_set is None or not refers_to(ref, REPLICASETS, replica_set.metadata):
            return None
        owner = replica_set.metadata.controller
        if owner is None or owner.kind != DEPLOYMENTS.kind:
            return ControllerScale(replica_set.metadata.uid, replica_set.spec.replicas)
        deployment = self._deployments.get(namespace, owner.name)
        if deployment is None or deployment.metadata.uid != owner.uid:
            return None
        return ControllerScale(deployment.metadata.uid, deployment.spec.replicas)

    async def _ask(self, ref: OwnerReference, namespace: str) -> Found:
        kind = _kind_of(ref)
        if kind is None:
            return SyncFailure(f'no matches for kind "{ref.kind}" in version "{ref.api_version}"')
        if kind.subresource("scale") is None:
            return SyncFailure(f"{kind.resource} does not implement the scale subresource")
        try:
            scale = await self._client.get(kind, ref.name, namespace, subresource="scale")
        except NotFound:
            return None
        except ApiError as error:
            return SyncFailure(str(error))
        if scale["metadata"].get("uid") != ref.uid:
            return None
        return ControllerScale(ref.uid, scale.get("spec", {}).get("replicas", 0))


def _kind_of(ref: OwnerReference) -> Kind | None:
    group = group_of(ref.api_version)
    return next((one for one in SERVED_KINDS if one.kind == ref.kind and one.group == group), None)
