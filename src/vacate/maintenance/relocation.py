"""Whether the pods of drained nodes find room elsewhere, by the rules of the stock scheduler.

It is a forecast from what is stored now: volumes, preemption and other schedulers are not looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from vacate.api.types import Node, Pod
from vacate.kube.scheduling.clusterview import ClusterView
from vacate.kube.scheduling.placement import DEFAULT_SCHEDULER, NoFit, place


def without_room(
    pods: Sequence[Pod],
    drained: Collection[str],
    nodes: Iterable[Node],
    everywhere: Iterable[Pod],
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, str]:
    """Of these pods, by UID, those whose replacement no other node would take, and why.

    They are placed one after the other in the given order, so that two of them do not get the same room.
    Only pods that a controller re-creates have a replacement, and only the stock scheduler is foreseen.
    """
    view = ClusterView()
    for name, labels in (namespaces or {}).items():
        view.namespaces[name] = dict(labels)
    for node in nodes:
        if node.metadata.name not in drained:
            view.set_node(node)
    for pod in everywhere:
        view.set_pod(pod)
    found: dict[str, str] = {}
    for pod in pods:
        owner = pod.metadata.controller
        if owner is None or owner.kind == "DaemonSet" or pod.spec.scheduler_name != DEFAULT_SCHEDULER:
            continue
        replacement = _unplaced(pod)
        view.remove_pod(pod.metadata.uid)
        match place(replacement, view):
            case NoFit(message):
                found[pod.metadata.uid] = message
            case placed:
                view.set_pod(replacement, placed.node)
    return found


def _unplaced(pod: Pod) -> Pod:
    """The pod that its controller creates in place of this one."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
