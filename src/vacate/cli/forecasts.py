"""How a pod would go that its budget refuses, and what its workload could opt in to, read for dry runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, REPLICASETS
from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod, PodDisruptionBudget, ReplicaSet
from vacate.cli.common.connection import Cluster
from vacate.controllers.eviction.ownbudget import is_allowed
from vacate.errors import Forbidden, NotFound
from vacate.interceptors.forecast import forecast_of, may_go_prepared
from vacate.kube.minreplicas import scales
from vacate.kube.workloads import Workload
from vacate.views.budgets import Forecast, Means


async def forecast(
    cluster: Cluster, pod: Pod, interceptors: Sequence[str], budgets: Sequence[PodDisruptionBudget]
) -> Forecast:
    """For a pod whose eviction these budgets refuse; the interceptors are those that can be expected to run.

    Of a workload that the user may not read, only what the registered interceptors show is known.
    """
    workload = await read_workload(cluster, pod)
    found = forecast_of(pod, interceptors, budgets, workload, cluster.clock.now())
    if found.means is not Means.EVICT or not may_go_prepared(interceptors, budgets):
        return found
    return replace(found, means=Means.DELETE_PREPARED) if await is_allowed(cluster.client, pod) else found


async def read_workload(cluster: Cluster, pod: Pod) -> Workload | None:
    """The Deployment of a pod and what scales it; None for a user who may not read them."""
    try:
        deployment = await _deployment_of(cluster, pod)
        return Workload(deployment, await _autoscalers_of(cluster, deployment))
    except Forbidden:
        return None


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
