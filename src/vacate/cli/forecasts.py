"""How a pod would go that its budget refuses now: by what its owner has opted in to. Read for dry runs.

A replacement that starts first lets the budget be met, and a single replica may be allowed to go once it is
prepared. The interceptors' own decisions say whether they would take the pod or decline.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, REPLICASETS
from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod, PodDisruptionBudget, ReplicaSet
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, REPLICASET_INTERCEPTOR
from vacate.cli.common.connection import Cluster
from vacate.controllers.eviction.ownbudget import is_allowed
from vacate.errors import Forbidden, NotFound
from vacate.interceptors.autoscaler.decision import decide as decide_by_autoscaler
from vacate.interceptors.decision import Decision
from vacate.interceptors.deployment.decision import UNREADY, WaitState, decide, is_unready
from vacate.kube.evictionbatches import goes_in_batches
from vacate.kube.floors import scales
from vacate.sdk.values import Declined
from vacate.views.budgets import Forecast, Means


async def forecast(
    cluster: Cluster, pod: Pod, interceptors: Sequence[str], budgets: Sequence[PodDisruptionBudget]
) -> Forecast:
    """For a pod whose eviction these budgets refuse; the interceptors are those that can be expected to run.

    Of a workload that the user may not read, only what the registered interceptors show is known.
    """
    declined = ""
    if {DEPLOYMENT_INTERCEPTOR, AUTOSCALER_INTERCEPTOR} & {*interceptors}:
        declined = await _declines(cluster, pod, interceptors)
        if not declined and (REPLICASET_INTERCEPTOR in interceptors or _met_by_surge(budgets)):
            return Forecast(Means.REPLACE)
    alone = all(one.status.expected_pods <= 1 for one in budgets)
    others = {*interceptors} - {DEPLOYMENT_INTERCEPTOR, AUTOSCALER_INTERCEPTOR, REPLICASET_INTERCEPTOR}
    if others and alone and await is_allowed(cluster.client, pod):
        return Forecast(Means.DELETE_PREPARED)
    return Forecast(declined=declined)


def _met_by_surge(budgets: Sequence[PodDisruptionBudget]) -> bool:
    """Whether one more pod lets the pod be evicted: a count is met then, a share of all pods is not."""
    return len(budgets) == 1 and isinstance(budgets[0].spec.min_available, int)


async def _declines(cluster: Cluster, pod: Pod, interceptors: Sequence[str]) -> str:
    """Why no replacement would be started; empty where one would, or that cannot be read."""
    now, uid = cluster.clock.now(), pod.metadata.uid
    try:
        deployment = await _deployment_of(cluster, pod)
        scalers = await _autoscalers_of(cluster, deployment) if AUTOSCALER_INTERCEPTOR in interceptors else []
    except Forbidden:
        return ""
    if is_unready(pod, now):
        return UNREADY
    found: Decision
    if scalers:
        found = decide_by_autoscaler(scalers, deployment, uid, None, WaitState(), now)
    elif deployment is not None and goes_in_batches(deployment):
        return f"Deployment {deployment.metadata.name} lets its pods go in batches, within budgets"
    else:
        found = decide(deployment, uid, None, WaitState(), now)
    return found.reason if isinstance(found, Declined) else ""


async def _deployment_of(cluster: Cluster, pod: Pod) -> Deployment | None:
    client, namespace, owner = cluster.client, pod.metadata.namespace, pod.metadata.controller
    if owner is None or owner.kind != REPLICASETS.kind:
        return None
    try:
        above = (await client.get(REPLICASETS, owner.name, namespace, into=ReplicaSet)).metadata.controller
        if above is None or above.kind != DEPLOYMENTS.kind:
            return None
        return await client.get(DEPLOYMENTS, above.name, namespace, into=Deployment)
    except NotFound:
        return None


async def _autoscalers_of(cluster: Cluster, deployment: Deployment | None) -> list[HorizontalPodAutoscaler]:
    if deployment is None:
        return []
    meta = deployment.metadata
    found = await cluster.client.list(HORIZONTALPODAUTOSCALERS, meta.namespace, into=HorizontalPodAutoscaler)
    return [one for one in found.items if scales(one, meta.name)]
