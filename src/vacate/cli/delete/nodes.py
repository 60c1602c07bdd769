"""`vacate delete node`, and the pods of a lost node released by hand: both only on confirmation."""

from __future__ import annotations

import contextlib

from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.kinds import NODES, PODS
from vacate.api.options import DRY_RUN_ALL, DeleteOptions, ListOptions
from vacate.api.types import Node, Pod
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.events import note_node
from vacate.cli.common.queries import read_node
from vacate.cli.identity import cluster_user
from vacate.errors import ConfigError, Forbidden
from vacate.kube.nodes import readiness
from vacate.views.phrases import counted


async def delete_node(cluster: Cluster, name: str, *, confirm: bool, dry_run: bool) -> str:
    """Delete a Node object; the rest of a sentence that begins with the node."""
    node = await read_node(cluster, name)
    pods = await pods_on(cluster, name)
    if not confirm and not dry_run:
        raise ConfigError(_consequences(node, len(pods)))
    uid = node.metadata.uid
    if not dry_run:
        user = await cluster_user(cluster) or "a user of vacate delete"
        text = f"{user} declared the node to be gone for good; {counted(len(pods), 'pod')} of it released."
        await note_node(cluster, node, "NodeDeletionConfirmed", text, warning=True)
        if readiness(node) not in ("", "True"):
            # Where the cluster is guarded it asks for this, and refuses the deletion of who may not write it.
            confirmed = {"uid": uid, "annotations": {CONFIRMATION: uid}}
            with contextlib.suppress(Forbidden):
                await cluster.client.patch(NODES, name, {"metadata": confirmed})
    await cluster.client.delete(
        NODES, name, options=DeleteOptions(uid=uid, dry_run=DRY_RUN_ALL if dry_run else ())
    )
    if dry_run:
        return f"would be deleted, and {counted(len(pods), 'pod')} with it (dry run)"
    return f"deleted: it counts as gone for good, and pod GC removes {_its(len(pods))} in about a minute"


async def pods_on(cluster: Cluster, node: str) -> list[Pod]:
    """All pods of a node that have not ended."""
    found = await cluster.client.list(
        PODS, options=ListOptions(field_selector=f"spec.nodeName={node}"), into=Pod
    )
    return [pod for pod in found.items if not pod.terminal]


async def check_lost(cluster: Cluster, node: str) -> None:
    """ConfigError unless the node has stopped to report: one that is not ready says so itself."""
    ready = readiness(await read_node(cluster, node))
    if ready == "Unknown":
        return
    if ready == "True":
        raise ConfigError(
            f"--on-node: node {node} is ready: it terminates its pods itself. Nothing was deleted; delete "
            "the pods without --force"
        )
    state = f"it reports Ready={ready}" if ready else "it was not found to be unreachable"
    raise ConfigError(
        f"--on-node: node {node} is not lost: {state}, so processes of its pods may run. Nothing was "
        "deleted; only a node that does not report (Ready=Unknown) is released by hand. Repair the node, or "
        "switch its machine off and wait until it is unreachable"
    )


async def lost_pods(cluster: Cluster, node: str) -> list[Pod]:
    """The pods of a lost node that are being deleted; ConfigError where the node reports."""
    await check_lost(cluster, node)
    held = [pod for pod in await pods_on(cluster, node) if pod.terminating]
    if not held:
        terminal.echo(f"No pods of node {node} wait to be released.", err=True)
    return held


def _its(pods: int) -> str:
    return f"its {counted(pods, 'pod')}"


def _consequences(node: Node, pods: int) -> str:
    name = node.metadata.name
    ready = readiness(node)
    state = {"True": "it is ready and would go on running", "Unknown": "it does not report"}.get(
        ready, f"it reports Ready={ready} and would go on running" if ready else "it has never reported"
    )
    return (
        f"deleting node {name} says that the machine is gone for good ({state}): {_its(pods)} would be "
        "removed without waiting for processes to end, and replacements with the same identities and "
        "volumes may start beside them and damage data. Nothing was deleted. Fence the node, or bring it "
        "back; pass --confirm if you know that the machine is gone"
    )
