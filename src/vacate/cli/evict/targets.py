"""Which pods a command line means: named, of workloads, with labels, or of a node."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.api.types import Pod
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.evict.selection import (
    Selection,
    Workload,
    merged,
    pods_by_label,
    pods_of_node,
    pods_of_workload,
)
from vacate.views.phrases import listed


@dataclass(frozen=True, slots=True)
class EvictionTargets:
    """Which pods are meant."""

    targets: tuple[str | Workload, ...]
    selector: str
    node: str


async def select_pods(
    cluster: Cluster, choice: EvictionTargets, namespace: str
) -> tuple[tuple[str, ...], Selection]:
    """The pods that were named one by one, and those that were selected; it says when there are none.

    `namespace` is the one of the command line, if any.
    """
    if choice.node:
        found = await pods_of_node(cluster, choice.node, namespace, choice.selector)
        for pod, why in found.skipped:
            terminal.echo(f"pod/{shown_name(cluster, pod)} skipped: {why}", err=True)
    elif choice.selector:
        found = await pods_by_label(cluster, choice.selector)
    else:
        workloads = [one for one in dict.fromkeys(choice.targets) if isinstance(one, Workload)]
        found = merged([await pods_of_workload(cluster, one) for one in workloads])
    names = tuple(one for one in dict.fromkeys(choice.targets) if isinstance(one, str))
    if not names and not found.pods:
        terminal.echo(_nothing(cluster, choice), err=True)
    return names, found


def _nothing(cluster: Cluster, choice: EvictionTargets) -> str:
    if choice.node:
        also = f" match {choice.selector!r} and" if choice.selector else ""
        return f"No pods{also} can be evicted from node {choice.node}."
    if choice.selector:
        return f"No pods match {choice.selector!r} in namespace {cluster.namespace}."
    names = [f"{one.kind.singular}/{one.name}" for one in choice.targets if isinstance(one, Workload)]
    have = "has" if len(names) == 1 else "have"
    return f"{listed(names)} {have} no pods in namespace {cluster.namespace}."


def shown_name(cluster: Cluster, pod: Pod) -> str:
    """`NAME`, or `NAMESPACE/NAME` of a pod in another namespace than the one that commands speak of."""
    meta = pod.metadata
    return meta.name if meta.namespace == cluster.namespace else f"{meta.namespace}/{meta.name}"
