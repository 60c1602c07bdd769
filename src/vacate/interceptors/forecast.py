"""How a pod would go that its budgets refuse now, by what its owner has opted in to. Pure.

A replacement that starts first lets the budget be met, and a single replica may be allowed to go once it is
prepared. The interceptors' own decisions say whether they would take the pod or decline.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence

from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, REPLACING, REPLICASET_INTERCEPTOR, SURGE_INTERCEPTORS
from vacate.interceptors.autoscaler.decision import decide as decide_by_autoscaler
from vacate.interceptors.decision import Decision
from vacate.interceptors.deployment.decision import UNREADY, WaitState, decide, is_unready
from vacate.kube.evictionbatches import goes_in_batches
from vacate.kube.workloads import Workload
from vacate.sdk.values import Declined
from vacate.views.budgets import Forecast, Means


def forecast_of(
    pod: Pod,
    interceptors: Collection[str],
    budgets: Sequence[PodDisruptionBudget],
    workload: Workload | None,
    now: dt.datetime,
) -> Forecast:
    """For a pod whose eviction these budgets refuse; the interceptors are those that can be expected to run.

    Of a workload that was not read, only what the registered interceptors show is known. Whether prepared
    pods may go is another question: see `may_go_prepared`.
    """
    declined = ""
    if {*REPLACING} & {*interceptors}:
        declined = _declines(pod, interceptors, workload, now)
        if not declined and (REPLICASET_INTERCEPTOR in interceptors or _met_by_surge(budgets)):
            return Forecast(Means.REPLACE, workload=workload)
    return Forecast(declined=declined, workload=workload)


def may_go_prepared(interceptors: Collection[str], budgets: Sequence[PodDisruptionBudget]) -> bool:
    """Whether the pod could be deleted past its own budget once it is prepared, if its owner allows it."""
    others = {*interceptors} - {*SURGE_INTERCEPTORS}
    return bool(others) and all(one.status.expected_pods <= 1 for one in budgets)


def _met_by_surge(budgets: Sequence[PodDisruptionBudget]) -> bool:
    """Whether one more pod lets the pod be evicted: a count is met then, a share of all pods is not."""
    return len(budgets) == 1 and isinstance(budgets[0].spec.min_available, int)


def _declines(pod: Pod, interceptors: Collection[str], workload: Workload | None, now: dt.datetime) -> str:
    """Why no replacement would be started; empty where one would, or that is not known."""
    if workload is None:
        return ""
    if is_unready(pod, now):
        return UNREADY
    deployment, uid = workload.deployment, pod.metadata.uid
    found: Decision
    if AUTOSCALER_INTERCEPTOR in interceptors and workload.autoscalers:
        found = decide_by_autoscaler(workload.autoscalers, deployment, uid, None, WaitState(), now)
    elif deployment is not None and goes_in_batches(deployment):
        return f"Deployment {deployment.metadata.name} lets its pods go in batches, within budgets"
    else:
        found = decide(deployment, uid, None, WaitState(), now)
    return found.reason if isinstance(found, Declined) else ""
