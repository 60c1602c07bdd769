"""The eviction request controller of a dialect: its reconciler, and what wakes it."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.api.kinds import DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS, REPLICASETS, STATEFULSETS
from vacate.api.types import Deployment, Pod, PodDisruptionBudget, ReplicaSet, StatefulSet
from vacate.cache.indexes import SELECTING
from vacate.controllers.eviction.budgetwatcher import BudgetWatcher
from vacate.controllers.eviction.metrics import OpenRequests
from vacate.controllers.eviction.reconciler import EvictionRequests
from vacate.controllers.eviction.summarymetrics import RequestTotals
from vacate.controllers.lifecycle.givingway import Yielding
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import served_dialects
from vacate.eviction.dialects.turn_conditions import is_prepared
from vacate.eviction.registration import registering
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class Settings:
    """How the controller works."""

    workers: int = 16  # requests that are looked at side by side


def build(
    deps: Dependencies, settings: Settings | None = None, dialect: Dialect = EVICTION_REQUEST
) -> Controller:
    """The controller of a dialect, woken by requests, by their pods, and by budgets that open."""
    chosen = settings or Settings()
    requests = deps.informers.requests(dialect)
    pods = deps.informers.informer(PODS, Pod)
    budgets = deps.informers.informer(PODDISRUPTIONBUDGETS, PodDisruptionBudget, indexes=SELECTING)
    reconciler = EvictionRequests(deps, dialect)
    pods.subscribe(reconciler.on_pod)
    controller = Controller(
        dialect.kind.plural,
        Yielding(reconciler, deps) if dialect is LIFECYCLE else reconciler,
        (
            Source(requests),
            Source(pods, keys=reconciler.request_of, when=_matters),
            *(
                Source(deps.informers.requests(other), keys=reconciler.beside)
                for other in served_dialects(deps.gates)
                if other is not dialect
            ),
        ),
        deps,
        workers=chosen.workers,
        refusals_on=requests,
    )
    watcher = BudgetWatcher(
        dialect, reconciler.attempts, requests.reader, pods.reader, budgets.reader, controller.queue.add
    )
    reconciler.budgets = watcher
    # Whom the owner may have let go meanwhile is not left to wait for a budget.
    reconciler.attempts.is_budgeted = lambda one: watcher.counts(one) and not is_prepared(one)
    deps.informers.informer(STATEFULSETS, StatefulSet).subscribe(watcher.on_workload)
    deps.informers.informer(DEPLOYMENTS, Deployment).subscribe(watcher.on_workload)
    deps.informers.informer(REPLICASETS, ReplicaSet).subscribe(watcher.on_workload)
    budgets.subscribe(watcher.on_budget)
    pods.subscribe(watcher.on_pod)
    queue = dialect.kind.plural
    prefix = "vacate" if dialect is EVICTION_REQUEST else f"vacate_{dialect.terms.request}"
    deps.metrics.show(f"{queue} in total", RequestTotals(requests.reader, prefix))
    if deps.metrics.per_request:
        open_requests = OpenRequests(requests.reader, reconciler.attempts.accepted_count, dialect.terms)
        deps.metrics.show(queue, open_requests)
    return controller


def build_evacuation(deps: Dependencies) -> Controller:
    """The controller of Evacuations."""
    return build(deps, dialect=EVACUATION)


def build_lifecycle(deps: Dependencies) -> Controller:
    """The controller of Evictions of lifecycle.k8s.io."""
    return build(deps, dialect=LIFECYCLE)


def _matters(old: Pod | None, new: Pod | None) -> bool:
    """Whether the process could go another way: most changes of a pod are about its containers."""
    if old is None or new is None:
        return True
    return (
        old.terminal != new.terminal
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or old.metadata.finalizers != new.metadata.finalizers
        or old.metadata.owner_references != new.metadata.owner_references
        or registering(old.metadata.annotations) != registering(new.metadata.annotations)
        or old.status.conditions != new.status.conditions  # as far as they are kept: requests to be created
    )
