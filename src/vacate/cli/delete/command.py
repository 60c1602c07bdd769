"""`vacate delete pod`: begin graceful deletion, or, confirmed, remove a pod that its node cannot remove."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import click

from vacate.api import kinds
from vacate.api.integers import MAX_INT32
from vacate.api.kinds import NODES, PODS, Kind
from vacate.api.options import ListOptions
from vacate.api.terminationreason import reason_complaints
from vacate.api.types import Pod
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, cluster_options, run_on_cluster
from vacate.cli.common.exitcodes import FAILED, complain, each, end
from vacate.cli.common.parameters import pod_name, span_between
from vacate.cli.common.selectors import check_choice, selector_option
from vacate.cli.common.shellcompletion import complete_deleted
from vacate.cli.delete.nodes import check_lost, delete_node, lost_pods
from vacate.cli.delete.poddeletions import DeletionOptions, PodDeletions
from vacate.errors import ConfigError, VacateError

CONSEQUENCES = (
    "force deletion does not wait for the node to confirm that the processes ended. They may go on running, "
    "and a replacement with the same identity and the same volumes may start beside them and damage data. "
    "Nothing was deleted. Delete without --force, or pass --confirm if you know that the processes are gone"
)


def _reason(ctx: click.Context, param: click.Parameter, text: str) -> str:
    if wrong := reason_complaints(text):
        raise click.BadParameter(f"the reason {wrong[0]}", ctx, param)
    return text


@click.command()
@click.argument("names", shell_complete=complete_deleted, nargs=-1, metavar="pod|node [NAME…]")
@selector_option("Every pod with these labels instead.")
@click.option(
    "--reason",
    default="",
    callback=_reason,
    metavar="TEXT",
    help="Why the pods are deleted; their preStop hooks receive it.",
)
@click.option(
    "--grace-period",
    type=click.IntRange(1, MAX_INT32),
    metavar="SECONDS",
    help="Grace period instead of the pod's own.",
)
@click.option("--wait", is_flag=True, help="Wait until the pods are gone.")
@click.option("--timeout", type=span_between(), metavar="SPAN", help="Maximum time to wait; implies --wait.")
@click.option("--dry-run", is_flag=True, help="Check with the server what would be deleted; delete nothing.")
@click.option("--force", is_flag=True, help="Remove the pod without waiting for its node; needs --confirm.")
@click.option("--confirm", is_flag=True, help="Confirm the consequences of --force, or of deleting a node.")
@click.option(
    "--on-node",
    metavar="NODE",
    help="All terminating pods of a lost node, in all namespaces; needs --force --confirm.",
)
@cluster_options
def delete(
    names: tuple[str, ...],
    selector: str,
    reason: str,
    grace_period: int | None,
    wait: bool,
    timeout: dt.timedelta | None,
    dry_run: bool,
    force: bool,
    confirm: bool,
    on_node: str | None,
    reach: Connection,
) -> None:
    """Delete pods; with --force only if confirmed.

    The pod's node ends the processes within the pod's grace period and then removes the object. With --force
    --confirm the object is removed at once, whatever the node does: for a node that is gone for good. An
    Event says who did it. Disruption budgets and interceptors are bypassed; `vacate evict` respects them.

    A reason is kept as metadata.reason of the pod or, in clusters without that field, as the annotation
    vacate.dev/termination-reason. The first reason of a pod stays.

    `vacate delete node NAME` declares that the machine is gone for good, and releases all of its pods. It
    shows them first, and needs --confirm.

    Exit codes: 0 done, 1 refused or failed, 2 usage; with --timeout also 4 timed out.
    """
    if names and names[0] in NODE_TYPES:
        if any((force, selector, on_node, reason, grace_period is not None, wait, timeout)):
            raise click.UsageError("nodes are deleted by name, with --confirm or --dry-run and nothing else.")
        _delete_nodes(names[1:], reach, confirm=confirm, dry_run=dry_run)
        return
    pods = chosen_pods(names)
    if on_node is None:
        check_choice(pods, selector)
    elif any((pods, selector, not force, wait, timeout)):
        raise click.UsageError("--on-node names all pods itself, and goes with --force --confirm only.")
    _check_force(force, confirm, grace_period)

    async def work(cluster: Cluster) -> list[int]:
        options = DeletionOptions(force, reason, grace_period, dry_run)
        if on_node is not None:
            return await _release(cluster, on_node, options)
        deleting = PodDeletions(cluster, options)
        codes: list[int] = []
        going: list[str] = []
        for pod, outcome in await each(pods or await _selected(cluster, selector), deleting.delete):
            if isinstance(outcome, VacateError):
                codes.append(complain(pod, outcome))
            else:
                terminal.echo(f"pod/{pod} {outcome}")
                going.append(pod)
        if (wait or timeout) and not dry_run:
            codes += await deleting.wait(going, timeout)
        return codes

    end(run_on_cluster(reach, work))


def _check_force(force: bool, confirm: bool, grace_period: int | None) -> None:
    if force and grace_period is not None:
        raise click.UsageError("--force removes pods at once; --grace-period is for deletion without it.")
    if confirm and not force:
        raise click.UsageError("--confirm is for --force; without it nothing needs to be confirmed.")
    if force and not confirm:
        raise ConfigError(CONSEQUENCES)


def _delete_nodes(names: tuple[str, ...], reach: Connection, *, confirm: bool, dry_run: bool) -> None:
    if not names:
        raise click.UsageError("Name the nodes to delete.")

    async def work(cluster: Cluster) -> list[int]:
        codes: list[int] = []
        for name in dict.fromkeys(names):
            try:
                outcome = await delete_node(cluster, name, confirm=confirm, dry_run=dry_run)
            except VacateError as error:
                terminal.error(f"node/{name}: {error}")
                codes.append(FAILED)
            else:
                terminal.echo(f"node/{name} {outcome}")
        return codes

    end(run_on_cluster(reach, work))


async def _release(cluster: Cluster, node: str, options: DeletionOptions) -> list[int]:
    """Remove the pods of a lost node that are being deleted, each confirmed for itself."""
    codes: list[int] = []
    for pod in await lost_pods(cluster, node):
        name, namespace = pod.metadata.name, pod.metadata.namespace
        deleting = PodDeletions(replace(cluster, namespace=namespace), options)
        try:
            await check_lost(cluster, node)  # it may be back since the last one
            outcome = await deleting.delete(name, uid=pod.metadata.uid)
        except VacateError as error:
            codes.append(complain(name, error))
        else:
            terminal.echo(f"pod/{name} -n {namespace} {outcome}")
    return codes


async def _selected(cluster: Cluster, selector: str) -> tuple[str, ...]:
    found = await cluster.client.list(PODS, cluster.namespace, ListOptions(label_selector=selector), into=Pod)
    if not found.items:
        terminal.echo(f"No pods match {selector!r} in namespace {cluster.namespace}.", err=True)
    return tuple(pod.metadata.name for pod in found.items)


POD_TYPES = ("pod", "pods", "po")
NODE_TYPES = ("node", "nodes", "no")
# Types of every cluster that Vacate itself never reads.
_MORE_TYPES = (
    "service", "services", "svc", "endpoints", "ep", "endpointslice", "endpointslices", "ingress",
    "ingresses", "ing", "networkpolicy", "networkpolicies", "netpol", "secret", "secrets",
    "replicationcontroller", "replicationcontrollers", "rc", "resourcequota", "resourcequotas", "quota",
    "limitrange", "limitranges", "volumeattachment", "volumeattachments", "customresourcedefinition",
    "customresourcedefinitions", "crd", "crds",
)  # fmt: skip


def _words(kind: Kind) -> tuple[str, ...]:
    qualified = (f"{kind.singular}.{kind.group}", kind.resource) if kind.group else ()
    return kind.singular, kind.plural, *kind.short_names, *qualified


_KNOWN = [one for one in vars(kinds).values() if isinstance(one, Kind) and one not in (PODS, NODES)]
_OTHER_TYPES = frozenset([*_MORE_TYPES, *(word for kind in _KNOWN for word in _words(kind))])


def chosen_pods(names: tuple[str, ...]) -> tuple[str, ...]:
    """The pods, after an optional `pod`; UsageError where the first word is another type of object.

    A single name is always a pod: `vacate delete job` deletes the pod job.
    """
    if names and names[0] in POD_TYPES:
        return tuple(dict.fromkeys(map(pod_name, names[1:])))
    if len(names) > 1 and names[0] in _OTHER_TYPES:
        raise click.UsageError(
            f"only pods and nodes can be deleted here, and {names[0]!r} is neither; write vacate delete pod "
            f"NAME or vacate delete node NAME. For a pod that is called {names[0]}, write pod/{names[0]}."
        )
    return tuple(dict.fromkeys(map(pod_name, names)))
