"""Which pods `vacate evict` means: by labels, by their node, or by the workload that manages them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import click

from vacate.admission.pods.workloads import WORKLOADS
from vacate.api.kinds import JOBS, NODES, Kind
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj, dig
from vacate.api.options import ListOptions
from vacate.api.types import Pod
from vacate.api.untyped import controller_of
from vacate.cli.common.connection import Cluster
from vacate.cli.common.parameters import POD_PREFIXES, pod_name, shown
from vacate.cli.common.queries import list_pods
from vacate.cli.common.remedies import no_node, not_found_in
from vacate.errors import ConfigError, NotFound
from vacate.maintenance.names import MIRROR
from vacate.views.phrases import counted

CONFIRM_ABOVE = 10
"""More pods than that are confirmed first, unless each of them was named."""

_BETWEEN = {one.kind: [*one.owners][:-1] for one in WORKLOADS}
_KINDS = (*(kind for one in WORKLOADS for kind in reversed([*one.owners])), JOBS)
_WORKLOADS: Mapping[str, Kind] = {
    name: kind for kind in _KINDS for name in (kind.singular, kind.plural, *kind.short_names)
}
_DAEMONS = ("daemonset", "daemonsets", "ds")


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload as it was named on the command line."""

    kind: Kind
    name: str


@dataclass(slots=True)
class Selection:
    """The pods that were found, and those that were left out, each with the reason."""

    pods: list[Pod] = field(default_factory=list)
    skipped: list[tuple[Pod, str]] = field(default_factory=list)

    @property
    def namespaces(self) -> set[str]:
        """The namespaces of the pods."""
        return {pod.metadata.namespace for pod in self.pods}

    @property
    def question(self) -> str:
        """What is confirmed before a wide selection is evicted."""
        spaces = len(self.namespaces)
        where = f" in {counted(spaces, 'namespace')}" if spaces > 1 else ""
        text = f"This requests the eviction of {counted(len(self.pods), 'pod')}{where}"
        if bare := sum(pod.metadata.controller is None for pod in self.pods):
            text += f", of which {bare} {'is' if bare == 1 else 'are'} managed by no controller"
        return text


def target(text: str) -> str | Workload:
    """A pod, as NAME or pod/NAME, or a workload, as deployment/NAME."""
    prefix, slash, name = text.partition("/")
    if slash and prefix in _DAEMONS:
        raise click.BadParameter(
            "pods of DaemonSets are not evicted, as they would return at once; to remove them from a node "
            "use: vacate drain NODE --evict-daemonsets"
        )
    if slash and prefix not in (*_WORKLOADS, *POD_PREFIXES):
        raise click.BadParameter(
            f"{shown(text)} is neither a pod nor a workload whose pods can be evicted; write NAME or "
            f"pod/NAME, or {', '.join(f'{one.singular}/NAME' for one in _KINDS[:-1])} or job/NAME"
        )
    if not slash or prefix not in _WORKLOADS:
        return pod_name(text)
    if "/" in name or not name or dns1123_subdomain(name):
        raise click.BadParameter(f"{text[:80]!r} is not a workload; write {prefix}/NAME")
    return Workload(_WORKLOADS[prefix], name)


def is_wide(selection: Selection) -> bool:
    """Whether to ask first: many pods that were not named, or pods of several namespaces."""
    return len(selection.pods) > CONFIRM_ABOVE or len(selection.namespaces) > 1


async def pods_by_label(cluster: Cluster, selector: str) -> Selection:
    """Every pod of the namespace with these labels."""
    return Selection(await list_pods(cluster, cluster.namespace, label_selector=selector))


async def pods_of_node(cluster: Cluster, node: str, namespace: str, selector: str) -> Selection:
    """The pods of a node, without those that an eviction cannot remove from it."""
    try:
        await cluster.client.get(NODES, node)
    except NotFound:
        raise no_node(node) from None
    found = await list_pods(
        cluster, namespace, label_selector=selector, field_selector=f"spec.nodeName={node}"
    )
    made = Selection()
    for pod in found:
        why = _stays(pod)
        if why:
            made.skipped.append((pod, why))
        else:
            made.pods.append(pod)
    return made


async def pods_of_workload(cluster: Cluster, workload: Workload) -> Selection:
    """The pods that a workload manages; those of a Deployment through its ReplicaSets."""
    kind, namespace = workload.kind, cluster.namespace
    try:
        found: Obj = await cluster.client.get(kind, workload.name, namespace)
    except NotFound as error:
        if not error.details.get("name"):
            raise ConfigError(f"this cluster serves no {kind.plural} ({kind.api_version})") from None
        raise not_found_in(error, namespace) from None
    owners = {str(dig(found, "metadata", "uid"))}
    labels = _labels_of(found)
    for between in reversed(_BETWEEN.get(kind, ())):
        listed = await cluster.client.list(between, namespace, ListOptions(label_selector=labels))
        below = [one for one in listed.items if controller_of(one).get("uid") in owners]
        owners = {str(dig(one, "metadata", "uid")) for one in below}
    pods = await list_pods(cluster, namespace, label_selector=labels)
    own = [pod for pod in pods if _owner(pod.metadata.controller) in owners]
    return Selection([pod for pod in own if not pod.terminal])


def _owner(reference: object) -> str:
    return str(getattr(reference, "uid", ""))


def _labels_of(workload: Obj) -> str:
    """What narrows the list; what really manages a pod is its owner reference."""
    labels = dig(workload, "spec", "selector", "matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _stays(pod: Pod) -> str:
    if MIRROR in pod.metadata.annotations:
        return "only its node can terminate a static pod"
    owner = pod.metadata.controller
    if owner is not None and owner.kind == "DaemonSet":
        return f"DaemonSet {owner.name} manages it and would re-create it"
    if pod.terminating:
        return "it is terminating"
    return "it has finished" if pod.terminal else ""


def merged(selections: Sequence[Selection]) -> Selection:
    """All of them, each pod once, in the order in which they were found."""
    pods = {pod.metadata.uid: pod for one in selections for pod in one.pods}
    return Selection(list(pods.values()), [pair for one in selections for pair in one.skipped])
