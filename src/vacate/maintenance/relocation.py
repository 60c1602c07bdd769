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
    left = [node for node in nodes if node.metadata.name not in drained]
    return _unplaceable(pods, _view_of(left, everywhere, namespaces))


def without_room_by_node(
    pods: Mapping[str, Sequence[Pod]],
    nodes: Iterable[Node],
    everywhere: Iterable[Pod],
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, dict[str, str]]:
    """By node, drained alone: the same of its pods. Nodes whose pods all fit are not in it."""
    by_name = {node.metadata.name: node for node in nodes}
    view = _view_of(by_name.values(), everywhere, namespaces)
    found = {}
    for name, node in by_name.items():
        view.remove_node(name)
        if misfits := _unplaceable(pods.get(name, ()), view):
            found[name] = misfits
        for pod in pods.get(name, ()):
            view.set_pod(pod)
        view.set_node(node)
    return found


def _view_of(
    nodes: Iterable[Node], pods: Iterable[Pod], namespaces: Mapping[str, Mapping[str, str]] | None
) -> ClusterView:
    view = ClusterView()
    for name, labels in (namespaces or {}).items():
        view.namespaces[name] = dict(labels)
    for node in nodes:
        view.set_node(node)
    for pod in pods:
        view.set_pod(pod)
    return view


def _unplaceable(pods: Sequence[Pod], view: ClusterView) -> dict[str, str]:
    """By UID, why no node of the view takes the pod's replacement; those that fit are placed in it."""
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
