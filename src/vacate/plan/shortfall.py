"""What is missing for pods that have no room: how much of which resource, and in which zone. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from vacate.api.objects import Obj
from vacate.api.types import Node, PersistentVolume, PersistentVolumeClaim, Pod, Taint
from vacate.client.codec import codec_for
from vacate.kube.scheduling.clusterview import ZONE, ClusterView
from vacate.kube.scheduling.nodeaffinity import wants_node
from vacate.kube.scheduling.requests import pod_requests
from vacate.kube.scheduling.taints import HARD_EFFECTS, untolerated
from vacate.kube.scheduling.volumes import bound_volumes, reaches

_INSUFFICIENT = re.compile(r"Insufficient (\S+?)[,.]?(?=\s|$)")


class Shortfall(msgspec.Struct, frozen=True, rename="camel"):
    """What nodes would have to offer beyond what they do: cores, bytes, or pieces, by resource."""

    zone: str  # empty where several would do
    resources: Mapping[str, float]


def shortfalls(
    refused: Iterable[tuple[Obj, str]],
    nodes: Sequence[Obj],
    claims: Sequence[Obj],
    volumes: Sequence[Obj],
) -> tuple[Shortfall, ...]:
    """By zone, what the pods want of the resources that the scheduler finds insufficient for them."""
    found: dict[str, dict[str, int]] = {}
    typed = [codec_for(Node).convert(one) for one in nodes]
    view = ClusterView(claims={}, volumes={})
    for volume in (codec_for(PersistentVolume).convert(one) for one in volumes):
        view.volumes[volume.metadata.name] = volume
    for claim in (codec_for(PersistentVolumeClaim).convert(one) for one in claims):
        assert view.claims is not None
        view.claims[claim.metadata.namespace, claim.metadata.name] = claim
    for obj, message in refused:
        pod = codec_for(Pod).convert(obj)
        wanted, short = pod_requests(pod), set(_INSUFFICIENT.findall(message))
        if short := short & wanted.keys():
            group = found.setdefault(_zone(pod, typed, view), {})
            for resource in sorted(short):
                group[resource] = group.get(resource, 0) + wanted[resource]
    return tuple(
        Shortfall(zone, {name: count / 1000 if name == "cpu" else count for name, count in group.items()})
        for zone, group in sorted(found.items())
    )


def _zone(pod: Pod, nodes: Sequence[Node], view: ClusterView) -> str:
    """The only zone with nodes for which the pod is; those that are cordoned count, and full ones."""
    volumes = bound_volumes(pod, view)
    zones = {
        node.metadata.labels.get(ZONE, "")
        for node in nodes
        if wants_node(pod, node)
        and not untolerated(pod.spec.tolerations, _lasting(node), HARD_EFFECTS)
        and all(reaches(volume, node) for volume in volumes)
    }
    return zones.pop() if len(zones) == 1 else ""


def _lasting(node: Node) -> list[Taint]:
    """The taints of the node but those that Kubernetes puts there for a while."""
    return [taint for taint in node.spec.taints if not taint.key.startswith("node.kubernetes.io/")]
