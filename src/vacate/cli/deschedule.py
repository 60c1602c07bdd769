"""`vacate deschedule`: show pods that stand where they should not, and evict them where that is wanted."""

from __future__ import annotations

from collections.abc import Sequence

import click

from vacate.api.installednames import NODE_MAINTAINER
from vacate.api.kinds import NAMESPACES, NODES
from vacate.api.selectors.labels import EVERYTHING, parse_selector
from vacate.api.types import Node, Pod
from vacate.api.types.deschedulingpolicy import (
    MAX_LIMIT,
    NODE_AFFINITY,
    NODE_TAINTS,
    NOWHERE_TO_GO,
    REFUSED,
    REQUESTED,
    RULES,
    TOPOLOGY_SPREAD,
)
from vacate.cli.common import terminal
from vacate.cli.common.confirmation import confirmed
from vacate.cli.common.connection import Cluster, Connection, cluster_options_with, run_on_cluster
from vacate.cli.common.exitcodes import FAILED, complain, each, end
from vacate.cli.common.output import JSON, json_text
from vacate.cli.common.queries import list_all_requests, list_pods, named_uid
from vacate.cli.common.remedies import with_role
from vacate.cli.common.selectors import selector_option
from vacate.cli.identity import own_requester
from vacate.descheduling.plan import Decision, DeschedulingPlan, Limits, plan_descheduling
from vacate.descheduling.violations import Scope, is_in_scope
from vacate.entropy import system_entropy
from vacate.errors import ConfigError, Forbidden, NotFound, VacateError
from vacate.sdk import Requester
from vacate.views.phrases import counted

_RULE_NAMES = {"taints": NODE_TAINTS, "node-affinity": NODE_AFFINITY, "topology-spread": TOPOLOGY_SPREAD}
_ASKED_FROM = 10  # more pods than that are confirmed first
_NONE_CONSIDERED = (
    "No pods were checked: none matches, or those that do cannot be moved (no controller, a DaemonSet, "
    "a static pod, emptyDir data, a cordoned node)."
)
_WOULD_REQUEST = "WouldRequest"  # for Requested, where nothing is changed
Outcomes = dict[str, VacateError | None]
"""What became of the request for each pod, by namespace/name: nothing is wrong, or an error."""
_WORDS = {REQUESTED: "would be evicted", NOWHERE_TO_GO: "stays"}


@click.command()
@click.option(
    "--rule",
    "rules",
    type=click.Choice(list(_RULE_NAMES)),
    multiple=True,
    help="Check only this rule. Can be repeated; all three by default.",
)
@selector_option("Only pods with these labels.")
@click.option("--node-selector", default="", metavar="LABELS", help="Only pods on nodes with these labels.")
@click.option("--delete-emptydir-data", is_flag=True, help="Also evict pods that lose emptyDir data.")
@click.option(
    "--max-per-node",
    type=click.IntRange(1, MAX_LIMIT),
    default=1,
    metavar="N",
    show_default=True,
    help="Maximum number of pods to evict from a node.",
)
@click.option(
    "--max-per-namespace",
    type=click.IntRange(1, MAX_LIMIT),
    default=1,
    metavar="N",
    show_default=True,
    help="Maximum number of pods to evict from a namespace.",
)
@click.option(
    "--max-total",
    type=click.IntRange(1, MAX_LIMIT),
    default=10,
    metavar="N",
    show_default=True,
    help="Maximum number of pods to evict in all.",
)
@click.option("--evict", is_flag=True, help="Request the evictions; without it nothing is changed.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@cluster_options_with("Only pods of this namespace; by default all namespaces except kube-system.")
@click.option("-o", "--output", type=click.Choice([JSON]), default=None, help="Print the result as JSON.")
def deschedule(
    rules: tuple[str, ...],
    selector: str,
    node_selector: str,
    delete_emptydir_data: bool,
    max_per_node: int,
    max_per_namespace: int,
    max_total: int,
    evict: bool,
    yes: bool,
    reach: Connection,
    output: str | None,
) -> None:
    """Show pods on nodes where they should not be, and evict them with --evict.

    These are pods that do not tolerate a taint of their node, whose required node affinity does not match it,
    or whose topology spread is uneven. They are evicted by EvictionRequests, so that interceptors and
    disruption budgets are respected: one step within the limits, and only pods that another node would take.
    Without -n it considers the pods of all namespaces except kube-system. To repeat it regularly, create a
    DeschedulingPolicy.

    Exit codes: 0 done, 1 refused, not confirmed or failed, 2 usage.
    """
    try:
        on_nodes = parse_selector(node_selector) if node_selector else EVERYTHING
    except VacateError as error:
        raise click.BadParameter(str(error), param_hint="--node-selector") from None
    scope = Scope(
        tuple(_RULE_NAMES[one] for one in rules) or RULES,
        frozenset({reach.namespace} if reach.namespace else ()),
        parse_selector(selector) if selector else EVERYTHING,
        on_nodes,
        delete_emptydir_data,
    )
    limits = Limits(max_per_node, max_per_namespace, max_total)

    async def work(cluster: Cluster) -> list[int]:
        try:
            if reach.namespace:
                await _check_namespace(cluster, reach.namespace)
            plan, considered = await _plan(cluster, scope, limits)
        except Forbidden as error:
            raise with_role(error, NODE_MAINTAINER) from error
        if output != JSON:
            _show(plan, considered, evict=evict)
        outcomes: Outcomes = {}
        agreed = True
        if evict and plan.request:
            agreed = yes or len(plan.request) <= _ASKED_FROM or await confirmed(_question(plan))
            outcomes = await _evict(cluster, plan.request, quiet=output == JSON) if agreed else {}
        if output == JSON:  # last, as it says what became of the requests
            terminal.echo_document(json_text({"pods": _rows(plan, outcomes)}))
        return [FAILED] if not agreed or any(outcomes.values()) else []

    end(run_on_cluster(reach, work))


async def _check_namespace(cluster: Cluster, name: str) -> None:
    """ConfigError where there is no such namespace; those who may not read it are believed."""
    try:
        await cluster.client.get(NAMESPACES, name)
    except NotFound:
        raise ConfigError(f"there is no namespace {name}; see: kubectl get namespaces") from None
    except Forbidden:
        return


async def _plan(cluster: Cluster, scope: Scope, limits: Limits) -> tuple[DeschedulingPlan, int]:
    """The plan, and how many pods were considered for it."""
    nodes = (await cluster.client.list(NODES, into=Node)).items
    pods = [pod for pod in await list_pods(cluster, "") if not pod.terminal]
    requested = dict.fromkeys(await _leaving(cluster), False)
    by_name = {node.metadata.name: node for node in nodes}
    considered = sum(is_in_scope(pod, by_name.get(pod.spec.node_name), scope) for pod in pods)
    return plan_descheduling(scope, limits, nodes, pods, requested), considered


async def _leaving(cluster: Cluster) -> list[str]:
    """The UIDs of the pods with open requests by any API. A request that cannot be read counts as open."""
    return [named_uid(one.obj) for one in await list_all_requests(cluster, "") if not one.complete]


def _show(plan: DeschedulingPlan, considered: int, *, evict: bool) -> None:
    now = {id(one) for one in plan.request}
    for one in plan.decisions:
        pod = one.violation.pod
        what = _WORDS.get(one.state, "waits")
        if one.state == REQUESTED and id(one) not in now:
            what = "is being evicted"
        elif one.state == REQUESTED and evict:
            what = "is to be evicted"
        terminal.echo(f"pod/{_shown(pod)} on {pod.spec.node_name} {what}: {one.message}")
    if not considered:
        terminal.echo(_NONE_CONSIDERED)
    elif not plan.decisions:
        terminal.echo("Every pod is where it should be.")
    elif not evict:
        # Not a command to copy: without the same selectors and limits it would evict other pods.
        more = f" To request {counted(len(plan.request), 'eviction')}, repeat the command with --evict."
        terminal.echo(f"Nothing was changed.{more if plan.request else ''}", err=True)


def _rows(plan: DeschedulingPlan, outcomes: Outcomes) -> list[dict[str, object]]:
    """The pods for programs: what is true of each after this call."""
    chosen = {id(one) for one in plan.request}
    return [_row(one, outcomes, chosen=id(one) in chosen) for one in plan.decisions]


def _row(one: Decision, outcomes: Outcomes, *, chosen: bool) -> dict[str, object]:
    pod, state, message = one.violation.pod, one.state, one.message
    done = chosen and _shown(pod) in outcomes
    if chosen and not done:
        state = _WOULD_REQUEST
    elif done and (error := outcomes[_shown(pod)]) is not None:
        state, message, done = REFUSED, f"{message}; the EvictionRequest failed: {error}", False
    return {
        "namespace": pod.metadata.namespace,
        "pod": pod.metadata.name,
        "node": pod.spec.node_name,
        "rule": one.violation.rule,
        "state": state,
        "requestedNow": done,
        "message": message,
    }


def _question(plan: DeschedulingPlan) -> str:
    return f"This requests the eviction of {counted(len(plan.request), 'pod')}"


async def _evict(cluster: Cluster, chosen: Sequence[Decision], *, quiet: bool) -> Outcomes:
    """Request the evictions; errors are printed too."""
    requester = Requester(
        cluster.client, await own_requester(cluster), clock=cluster.clock, entropy=system_entropy()
    )
    by_name = {_shown(one.violation.pod): one for one in chosen}

    async def request(name: str) -> None:
        one = by_name[name].violation
        await requester.request(one.pod, reason=f"{one.rule}: {one.message}")

    outcomes: Outcomes = dict(await each(tuple(by_name), request))
    for name, error in outcomes.items():
        if error is not None:
            complain(name, error)
        elif not quiet:
            terminal.echo(f"pod/{name} eviction requested")
    return outcomes


def _shown(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
