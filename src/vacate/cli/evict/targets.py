"""Which pods a command line means: named, of workloads, with labels, or of a node."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from vacate.api.kinds import PODS
from vacate.api.options import ListOptions
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.queries import list_all_requests, named_uid
from vacate.cli.evict.selection import (
    Selection,
    Workload,
    merged,
    pods_by_label,
    pods_of_node,
    pods_of_workload,
)
from vacate.errors import Forbidden, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import DIALECTS, OWN_DIALECTS, api_of, dialect_for, dialect_of
from vacate.eviction.engine import cancelled
from vacate.eviction.registration import registering_part
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


async def by_api(
    cluster: Cluster, names: tuple[str, ...], found: Selection, preferred: Dialect
) -> list[tuple[Dialect, tuple[tuple[str, ...], Selection]]]:
    """The pods by the API in which their evictions are requested.

    A request that goes on is joined, whichever API it is of; one that was cancelled a moment ago does not go
    on. A new one is made in the API of those whom the pod registers, and that is the preferred one unless
    they are evacuators only.
    """
    served = await _served(cluster, preferred)
    if served == (preferred,):
        return [(preferred, (names, found))]
    going: dict[str, Dialect] = {}
    for space in {*found.namespaces, *((cluster.namespace,) if names else ())}:
        listing = await list_all_requests(cluster, space)
        going |= {
            named_uid(one.obj): api_of(one.typed)
            for one in listing
            if not one.complete and not _is_left(one.typed, preferred)
        }
    chosen: dict[Dialect, tuple[list[str], list[Pod]]] = {}

    def place(pod: Pod) -> tuple[list[str], list[Pod]]:
        dialect = going.get(pod.metadata.uid) or dialect_for(registering_part(pod), served, preferred)
        return chosen.setdefault(dialect, ([], []))

    for name in names:
        try:
            pod = await cluster.client.get(PODS, name, cluster.namespace, into=Pod)
        except NotFound:
            chosen.setdefault(preferred, ([], []))[0].append(name)  # which is then said about it
            continue
        place(pod)[0].append(name)
    for pod in found.pods:
        place(pod)[1].append(pod)
    return [(one, (tuple(named), Selection(pods))) for one, (named, pods) in chosen.items()]


def _is_left(request: EvictionRequest, preferred: Dialect) -> bool:
    """Whether a request was cancelled, and need not be over before another API has one for the pod."""
    own = dialect_of(request)
    return preferred is LIFECYCLE and own in OWN_DIALECTS and cancelled(own.process(request))


async def _served(cluster: Cluster, preferred: Dialect) -> tuple[Dialect, ...]:
    """The APIs that the cluster serves to this user; the preferred one in any case."""
    found = [preferred]
    for one in DIALECTS.values():
        if one is preferred:
            continue
        with contextlib.suppress(NotFound, Forbidden):
            await cluster.client.list(one.kind, cluster.namespace, ListOptions(limit=1))
            found.append(one)
    return tuple(found)


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
