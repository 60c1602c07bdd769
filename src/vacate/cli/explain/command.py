"""`vacate explain`: the state of a pod's eviction, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click

from vacate.api.kinds import FENCINGPOLICIES, NODES, PODS
from vacate.api.options import ListOptions
from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option, chosen_api
from vacate.cli.common.connection import Cluster, Connection, cluster_options, run_on_cluster
from vacate.cli.common.managerwatch import read_manager_health
from vacate.cli.common.output import output_option, print_object
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import (
    PodAndRequest,
    find_also_unserved,
    list_budgets,
    list_maintenances,
    refusals,
)
from vacate.cli.common.shellcompletion import complete_explained
from vacate.cli.explain.several import Explained, explain_several, explained
from vacate.cli.explain.text import as_lines, as_object
from vacate.cli.explain.volumes import exclusive_volumes, late_claims, lost_nodes, pods_of_namespace
from vacate.cli.forecasts import forecast, read_workload
from vacate.errors import Forbidden, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import api_of
from vacate.eviction.registration import registers_responders_only
from vacate.eviction.requesternames import is_maintenance
from vacate.kube.exclusivevolumes import awaits_volumes, uses_volumes
from vacate.kube.workloads import Workload
from vacate.views.awaitedvolumes import with_awaited_volumes, with_late_claims, with_shared_volumes
from vacate.views.budgets import Means, covering, would_refuse
from vacate.views.explanation import Explanation, explanation_of
from vacate.views.maintenance import is_draining, with_drains
from vacate.views.managerhealth import (
    WORKS,
    ManagerHealth,
    unattended_maintenance,
    unattended_request,
    waiting_requests,
    with_manager,
)
from vacate.views.overdue import is_cut_off, is_overdue, with_lost_node, with_overdue
from vacate.views.responders import lacks_responders, with_missing_responders
from vacate.views.sections.unrequested import explain_unrequested, without_vacate


@click.command()
@click.argument("what", type=explained, shell_complete=complete_explained, metavar="POD|TYPE/NAME")
@api_option("Of a pod: the API whose request is explained.", "whichever has one")
@cluster_options
@output_option()
def explain(what: Explained, dialect: Dialect | None, reach: Connection, output: str) -> None:
    """Explain the eviction of a pod, or the state of a node, a workload or a drain.

    Shows every interceptor in order with the state of its turn, what has happened, what the eviction waits
    for, what happens next and when, and what you can do. POD is NAME or pod/NAME; TYPE/NAME is a workload
    such as deployment/NAME, a node/NAME or a nodemaintenance/NAME, with a line for each of its pods.

    Exit codes: 0 done, 1 refused or failed, also without such a pod, 2 usage, 130 interrupted.
    """

    async def work(cluster: Cluster) -> None:
        if not isinstance(what, str):
            several = await explain_several(cluster, what, explain_pod, terminal.width())
            if output:
                print_object(several.obj(), output)
            else:
                terminal.echo_lines(several.text(terminal.columns()))
            return
        api = dialect and await chosen_api(cluster, dialect)
        explanation, readable = await explain_pod(cluster, what, api)
        if output:
            print_object(as_object(explanation), output)
            return
        terminal.echo_lines(as_lines(explanation, terminal.columns()))
        if not readable:
            terminal.echo(
                "You may not read disruption budgets in this namespace; they are not explained.",
                err=True,
            )

    run_on_cluster(reach, work)


async def explain_pod(cluster: Cluster, pod: str, only: Dialect | None = None) -> tuple[Explanation, bool]:
    """The explanation, and whether budgets could be read for it."""
    explanation, readable, health = await _explanation(cluster, pod, only)
    explanation = await _with_volumes_and_node(cluster, pod, explanation)
    return with_manager(explanation, health), readable


async def _explanation(
    cluster: Cluster, pod: str, only: Dialect | None
) -> tuple[Explanation, bool, ManagerHealth]:
    """The explanation, whether budgets could be read for it, and whether a manager works."""
    found = await find_also_unserved(cluster, pod, only)
    budgets = await list_budgets(cluster, cluster.namespace)
    request, now = found.typed_request, cluster.clock.now()
    if request is None:
        explanation = await _unrequested(found, cluster, budgets or [])
        if not found.served:
            return without_vacate(explanation, program_name()), budgets is not None, WORKS
        explanation = await _with_responders(cluster, found.typed_pod, explanation)
        drains = await _drains_of(cluster, found.typed_pod)
        explanation = with_drains(explanation, drains, found.typed_pod, program_name())
        health = await read_manager_health(cluster, unattended_maintenance(*drains))
        return explanation, budgets is not None, health
    refused = await refusals(cluster, request) if request.status.pod_eviction_status else ()
    explanation = explanation_of(
        request,
        found.typed_pod,
        budgets or [],
        now=now,
        refusals=refused,
        program=program_name(),
        maintenances=await _maintenances(cluster, request),
        workload=await _workload_of(cluster, found.typed_pod, request),
    )
    if api_of(request) is LIFECYCLE:
        explanation = await _with_responders(cluster, found.typed_pod, explanation)
    health = await read_manager_health(cluster, unattended_request([request]), waiting_requests([request]))
    return explanation, budgets is not None, health


async def _drains_of(cluster: Cluster, pod: Pod | None) -> list[NodeMaintenance]:
    """The NodeMaintenances that drain the node of a pod, as far as the user may read them."""
    if pod is None or not pod.spec.node_name:
        return []
    found = await list_maintenances(cluster) or []
    return [one for one in found if is_draining(one, pod.spec.node_name)]


async def _maintenances(cluster: Cluster, request: EvictionRequest) -> Sequence[NodeMaintenance] | None:
    """Those of the cluster where one requests the eviction; None where the user may not read them."""
    if not any(is_maintenance(one.name) for one in request.spec.requesters):
        return None
    return await list_maintenances(cluster)


async def _workload_of(cluster: Cluster, pod: Pod | None, request: EvictionRequest) -> Workload | None:
    """The workload of a pod that a budget has held; None where nothing about it has to be said."""
    held = pod is not None and request.status.pod_eviction_status is not None
    return await read_workload(cluster, pod) if pod is not None and held else None


async def _with_volumes_and_node(cluster: Cluster, name: str, explanation: Explanation) -> Explanation:
    """Say what the volumes and the node of the pod have to do with it, as far as the user may read them."""
    now = cluster.clock.now()
    try:
        pod = await cluster.client.get(PODS, name, cluster.namespace, into=Pod)
        volumes = await exclusive_volumes(cluster, pod) if pod.claims else []
        if volumes and awaits_volumes(pod):
            lost = await lost_nodes(cluster, volumes)
            explanation = with_awaited_volumes(explanation, pod, volumes, lost)
        elif volumes and uses_volumes(pod):
            beside = await pods_of_namespace(cluster, pod)
            explanation = with_shared_volumes(explanation, pod, volumes, beside)
        explanation = with_late_claims(explanation, await late_claims(cluster, pod))
        if not pod.spec.node_name:
            return explanation
        node = await _node(cluster, pod.spec.node_name)
    except (NotFound, Forbidden):
        return explanation
    if is_overdue(pod, now):
        return with_overdue(explanation, pod, node, now, program_name(), await _policies(cluster))
    if node is not None and is_cut_off(pod, node):
        return with_lost_node(explanation, pod, node, now, program_name(), await _policies(cluster))
    return explanation


async def _with_responders(cluster: Cluster, pod: Pod | None, explanation: Explanation) -> Explanation:
    """Say which responders the pod lacks, where the cluster serves Kubernetes' own API to this user."""
    if pod is None or not lacks_responders(pod):
        return explanation
    try:
        await cluster.client.list(LIFECYCLE.kind, cluster.namespace, ListOptions(limit=1))
    except (NotFound, Forbidden):
        return explanation
    return with_missing_responders(explanation, pod)


async def _policies(cluster: Cluster) -> Sequence[FencingPolicy] | None:
    """The FencingPolicies; None where the cluster does not serve them, or the user may not read them."""
    try:
        return (await cluster.client.list(FENCINGPOLICIES, into=FencingPolicy)).items
    except (NotFound, Forbidden):
        return None


async def _node(cluster: Cluster, name: str) -> Node | None:
    try:
        return await cluster.client.get(NODES, name, into=Node)
    except NotFound:
        return None


async def _unrequested(
    found: PodAndRequest, cluster: Cluster, budgets: list[PodDisruptionBudget]
) -> Explanation:
    pod = found.typed_pod
    assert found.pod is not None
    assert pod is not None
    dialect = LIFECYCLE if registers_responders_only(found.pod) else EVICTION_REQUEST
    registered = dialect.registration(found.pod)
    interceptors = registered.interceptors if found.served else ()  # without Vacate none has a turn
    held = covering(budgets, pod.metadata.namespace, pod.metadata.labels)
    foreseen = None
    if held and would_refuse(pod, held):
        foreseen = await forecast(cluster, pod, interceptors, held)
        foreseen = foreseen if found.served else replace(foreseen, means=Means.EVICT)
    return explain_unrequested(
        pod,
        interceptors[::-1],
        budgets,
        field_errors=[f"{field_error.path}: {field_error.detail}" for field_error in registered.field_errors],
        forecast=foreseen,
        now=cluster.clock.now(),
        program=program_name(),
    )
