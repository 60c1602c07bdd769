"""`vacate delete pod`: begin graceful deletion, or, confirmed, remove a pod that its node cannot remove."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import click

from vacate.admission.pods.forcedeletion import CONFIRMATION, may_leave_processes
from vacate.api.integers import MAX_INT32
from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig, terminating
from vacate.api.terminationreason import ANNOTATION, reason_complaints
from vacate.api.types import Pod
from vacate.cli.common import terminal
from vacate.cli.common.completing import complete_pods
from vacate.cli.common.connection import Cluster, Connection, cluster_options, connected
from vacate.cli.common.events import FORCE_CONFIRMED, note_pod
from vacate.cli.common.exitcodes import FAILED, TIMED_OUT, complain, each, end, interrupted
from vacate.cli.common.parameters import pod_name, span_between
from vacate.cli.common.remedies import not_found_in
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.selectors import check_choice, selector_option
from vacate.cli.delete_nodes import NODE_TYPES, delete_node, lost_pods
from vacate.cli.identity import cluster_user
from vacate.client.codec import codec_for
from vacate.client.reasons import delete_with_reason
from vacate.errors import ConfigError, NotFound, VacateError

_TYPES = ("pod", "pods", "po")
_POLL_SECONDS = 0.5
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
@click.argument("names", shell_complete=complete_pods, nargs=-1, metavar="pod|node [NAME…]")
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

    A reason is kept as metadata.reason of the pod, or where the cluster has no such field as the annotation
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
    pods = _pods(names)
    if on_node is None:
        check_choice(pods, selector)
    elif any((pods, selector, not force, wait, timeout)):
        raise click.UsageError("--on-node names all pods itself, and goes with --force --confirm only.")
    _check_force(force, confirm, grace_period)
    codes: list[int] = []

    async def work() -> None:
        async with connected(reach) as cluster:
            options = DeletionOptions(force, reason, grace_period, dry_run)
            if on_node is not None:
                codes.extend(await _release(cluster, on_node, options))
                return
            deleting = _Deleting(cluster, options)
            going: list[str] = []
            for pod, said in await each(pods or await _selected(cluster, selector), deleting.delete):
                if isinstance(said, VacateError):
                    codes.append(complain(pod, said))
                else:
                    terminal.echo(f"pod/{pod} {said}")
                    going.append(pod)
            if (wait or timeout) and not dry_run:
                codes.extend(await deleting.wait(going, timeout))

    if run_until_signalled(work):
        interrupted()
    end(codes)


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
    codes: list[int] = []

    async def work() -> None:
        async with connected(reach) as cluster:
            for name in dict.fromkeys(names):
                try:
                    said = await delete_node(cluster, name, confirm=confirm, dry_run=dry_run)
                except VacateError as error:
                    terminal.error(f"node/{name}: {error}")
                    codes.append(FAILED)
                else:
                    terminal.echo(f"node/{name} {said}")

    if run_until_signalled(work):
        interrupted()
    end(codes)


async def _release(cluster: Cluster, node: str, options: DeletionOptions) -> list[int]:
    """Remove the pods of a lost node that are being deleted, each confirmed for itself."""
    codes: list[int] = []
    for place, name in await lost_pods(cluster, node):
        try:
            said = await _Deleting(place, options).delete(name)
        except VacateError as error:
            codes.append(complain(name, error))
        else:
            terminal.echo(f"pod/{name} -n {place.namespace} {said}")
    return codes


def _pods(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, after an optional `pod`, as kubectl has it."""
    rest = names[1:] if names and names[0] in _TYPES else names
    return tuple(dict.fromkeys(pod_name(one) for one in rest))


async def _selected(cluster: Cluster, selector: str) -> tuple[str, ...]:
    found = await cluster.client.list(PODS, cluster.namespace, label_selector=selector, into=Pod)
    if not found.items:
        terminal.echo(f"No pods match {selector!r} in namespace {cluster.namespace}.", err=True)
    return tuple(pod.metadata.name for pod in found.items)


@dataclass(frozen=True, slots=True)
class DeletionOptions:
    """How the command deletes."""

    force: bool = False
    reason: str = ""
    grace_period: int | None = None
    dry_run: bool = False


class _Deleting:
    """One call of the command."""

    def __init__(self, cluster: Cluster, options: DeletionOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._force = options.force
        self._uids: dict[str, str] = {}

    async def delete(self, name: str) -> str:
        """Delete one pod; what was done, as the rest of a sentence that begins with the pod."""
        cluster = self._cluster
        try:
            pod = await cluster.client.get(PODS, name, cluster.namespace)
        except NotFound as error:
            raise not_found_in(error, cluster.namespace) from None
        self._uids[name] = pod["metadata"]["uid"]
        if self._options.dry_run:
            uid = pod["metadata"]["uid"]
            await cluster.client.delete(PODS, name, cluster.namespace, uid=uid, dry_run=True)
            return "would be deleted (dry run)"
        if self._force and may_leave_processes(pod, 0):
            return await self._remove(name, pod)
        grace = 0 if self._force else self._options.grace_period
        await self._send(name, pod, grace)
        node = dig(pod, "spec", "nodeName")
        if not node or self._force:
            return "deleted"
        seconds = grace if grace is not None else dig(pod, "spec", "terminationGracePeriodSeconds")
        return (
            f"is terminating: node {node} ends its processes within {seconds}s and then removes it"
            f"{self._about_reason(pod)}"
        )

    async def wait(self, names: Sequence[str], timeout: dt.timedelta | None) -> list[int]:
        """Until the pods are gone; the exit codes of those that are not in time."""
        seconds = timeout.total_seconds() if timeout else None
        try:
            async with asyncio.timeout(seconds):
                for name in names:
                    await self._gone(name)
                    terminal.echo(f"pod/{name} gone")
        except TimeoutError:
            terminal.error(f"pods are still terminating after {seconds:g}s; they go on without this command")
            return [TIMED_OUT]
        return []

    async def _gone(self, name: str) -> None:
        cluster = self._cluster
        while True:
            try:
                pod = await cluster.client.get(PODS, name, cluster.namespace)
            except NotFound:
                return
            if pod["metadata"]["uid"] != self._uids[name]:
                return
            await cluster.clock.sleep(_POLL_SECONDS)

    async def _send(self, name: str, pod: Obj, grace: int | None) -> None:
        client, namespace, uid = self._cluster.client, self._cluster.namespace, pod["metadata"]["uid"]
        reason = "" if terminating(pod) else self._options.reason
        if reason:
            await delete_with_reason(
                client, name, namespace, uid=uid, reason=reason, grace_period_seconds=grace
            )
        else:
            await client.delete(PODS, name, namespace, uid=uid, grace_period_seconds=grace)

    def _about_reason(self, pod: Obj) -> str:
        if not self._options.reason or not terminating(pod):
            return ""
        first = dig(pod, "metadata", "reason") or dig(pod, "metadata", "annotations", ANNOTATION)
        stays = f"its reason stays {first!r}" if first else "it has no reason, and none can be added"
        return f"; it was terminating already, so {stays}"

    async def _remove(self, name: str, pod: Obj) -> str:
        """Confirm for this very pod, say who does it, and remove it."""
        cluster, uid, node = self._cluster, pod["metadata"]["uid"], dig(pod, "spec", "nodeName")
        confirmed = {"metadata": {"uid": uid, "annotations": {CONFIRMATION: uid}}}
        await cluster.client.patch(PODS, name, confirmed, cluster.namespace)
        who = await cluster_user(cluster) or "a user of vacate delete"
        message = (
            f"{who} confirmed force deletion; node {node} has not confirmed that the processes have ended."
        )
        noted = await note_pod(cluster, codec_for(Pod).convert(pod), FORCE_CONFIRMED, message)
        await self._send(name, pod, 0)
        suffix = "" if noted else "; no Event could be written about it"
        return f"force deleted: node {node} has not confirmed that its processes have ended{suffix}"
