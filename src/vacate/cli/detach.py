"""`vacate detach`: break the attachment of an exclusive volume by hand, only on confirmation."""

from __future__ import annotations

import click

from vacate.api.kinds import NODES, PERSISTENTVOLUMES, PODS
from vacate.api.types import Node, PersistentVolume, Pod
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, cluster_scope_options, run_on_cluster
from vacate.cli.common.events import note_volume
from vacate.cli.common.exitcodes import FAILED, end
from vacate.cli.common.parameters import volume_name
from vacate.cli.identity import cluster_user
from vacate.controllers.exclusivevolumes.liveusers import running_users
from vacate.errors import ConfigError, Conflict, InvalidAttachment, NotFound, VacateError
from vacate.kube.exclusivevolumes import (
    Attachment,
    Holder,
    attachment_of,
    attachment_patch,
    detached_of,
    holder_of,
    lists,
)

BROKEN = "AttachmentBroken"


@click.command()
@click.argument("volumes", type=volume_name, nargs=-1, required=True, metavar="VOLUME…")
@click.option("--confirm", is_flag=True, help="Confirm that nothing on the node writes to the volume.")
@click.option("--dry-run", is_flag=True, help="Show what would be done; change nothing.")
@cluster_scope_options
def detach(volumes: tuple[str, ...], confirm: bool, dry_run: bool, reach: Connection) -> None:
    """Take an exclusive volume from a node that cannot give it back.

    The volume is free for the next pod at once, on another node. What still runs on the old node may
    continue to write to it; the old node gets the volume again only when its pods are known to have
    terminated. A kubelet does not ask for that: cordon its node first. Fencing the node does the same
    safely. VOLUME is NAME or pv/NAME.

    Exit codes: 0 done, 1 refused or failed, 2 usage.
    """

    async def work(cluster: Cluster) -> list[int]:
        codes: list[int] = []
        for name in dict.fromkeys(volumes):
            try:
                outcome = await break_attachment(cluster, name, confirm=confirm, dry_run=dry_run)
                terminal.echo(f"persistentvolume/{name} {outcome}")
            except VacateError as error:
                terminal.error(f"persistentvolume/{name}: {error}")
                codes.append(FAILED)
        return codes

    end(run_on_cluster(reach, work))


async def break_attachment(cluster: Cluster, name: str, *, confirm: bool, dry_run: bool) -> str:
    """Free the volume; the rest of a sentence that begins with the volume."""
    try:
        volume = await cluster.client.get(PERSISTENTVOLUMES, name, into=PersistentVolume)
    except NotFound:
        raise ConfigError(f"there is no PersistentVolume {name}; see: kubectl get pv") from None
    try:
        found, taken = attachment_of(volume), detached_of(volume)
    except InvalidAttachment:
        found, taken, listing = Attachment("that is not known"), (), []
        for pod in await running_users(cluster.client, volume):
            await _refuse_live(cluster, holder_of(pod))
    else:
        listing = await _listing_nodes(cluster, volume, {one.node for one in (found, *taken) if one})
        if found is None and not listing:
            return "is not attached: there is nothing to do"
        found = found or Attachment(", ".join(listing))
    for holder in found.pods:
        await _refuse_live(cluster, holder)
    # The record says which node has not confirmed yet; where it cannot be read, the pods say it.
    taken += (found,) if found.pods and found.node else await _terminating_users(cluster, volume)
    taken += tuple(map(Attachment, listing))
    where = f"{_node(found)} ({_pods(found)})"
    if not confirm and not dry_run:
        raise ConfigError(_consequences(where))
    if dry_run:
        return f"would be taken from {where} (dry run)"
    try:
        await cluster.client.patch(PERSISTENTVOLUMES, name, attachment_patch(volume, None, taken))
    except Conflict:
        raise ConfigError("the volume has changed meanwhile. Nothing was done; repeat the command") from None
    user = await cluster_user(cluster) or "a user of vacate detach"
    await note_volume(cluster, volume, BROKEN, f"{user} took the volume from {where} without its consent.")
    return f"taken from {where}: the next pod that uses it may start"


async def _listing_nodes(cluster: Cluster, volume: PersistentVolume, known: set[str]) -> list[str]:
    """Other nodes that report that they use the volume, although no record names them."""
    nodes = (await cluster.client.list(NODES, into=Node)).items
    return sorted(one.metadata.name for one in nodes if lists(one, volume) and one.metadata.name not in known)


async def _refuse_live(cluster: Cluster, holder: Holder) -> None:
    """A pod that is meant to run would get the volume again at once."""
    try:
        pod = await cluster.client.get(PODS, holder.name, holder.namespace, into=Pod)
    except NotFound:
        return
    if pod.metadata.uid == holder.uid and not pod.terminating and not pod.terminal:
        raise ConfigError(
            f"pod {holder} uses it and is not being deleted. Nothing was changed; delete the pod first: "
            f"vacate delete pod {holder.name} -n {holder.namespace}"
        )


async def _terminating_users(cluster: Cluster, volume: PersistentVolume) -> tuple[Attachment, ...]:
    """The pods that run with the volume and are being deleted, by their nodes."""
    by_node: dict[str, list[Holder]] = {}
    for pod in await running_users(cluster.client, volume):
        if pod.terminating:
            by_node.setdefault(pod.spec.node_name, []).append(holder_of(pod))
    return tuple(Attachment(node, tuple(pods)) for node, pods in sorted(by_node.items()))


def _consequences(where: str) -> str:
    return (
        f"it is attached to {where}, and it is not confirmed that nothing there writes to it any more. "
        "If it is taken away, a pod on another node may start beside the old one, and both write to the same "
        "volume: the data may be destroyed. Nothing was changed. Fence the node, or bring it back; pass "
        "--confirm if you know that the node no longer reaches the storage"
    )


def _node(attachment: Attachment) -> str:
    return f"node {attachment.node}" if attachment.node else "no node"


def _pods(attachment: Attachment) -> str:
    names = ", ".join(map(str, attachment.pods[:5]))
    more = f" and {len(attachment.pods) - 5} more" if len(attachment.pods) > 5 else ""
    return f"for pod {names}{more}" if names else "no record that can be read names a pod"
