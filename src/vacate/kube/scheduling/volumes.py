"""What a pod's volumes ask of its node: bound claims, and nodes from which the volumes can be reached."""

from __future__ import annotations

from vacate.api.objects import dig
from vacate.api.types import Node, PersistentVolume, Pod
from vacate.kube.scheduling.clusterview import ClusterView
from vacate.kube.scheduling.nodeaffinity import selects_node

UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"


def missing_claim(pod: Pod, view: ClusterView) -> str:
    """Why no node at all takes the pod, as far as its claims go; empty where they are bound."""
    if view.claims is None:
        return ""
    for name in pod.claims:
        claim = view.claims.get((pod.metadata.namespace, name))
        if claim is None and name in pod.claims_of_its_own:
            continue  # made after the pod, by nobody on the embedded cluster
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if not claim.spec.volume_name or claim.spec.volume_name not in view.volumes:
            return UNBOUND
    return ""


def bound_volumes(pod: Pod, view: ClusterView) -> list[PersistentVolume]:
    """The volumes of the pod's claims."""
    if view.claims is None:
        return []
    claims = (view.claims.get((pod.metadata.namespace, name)) for name in pod.claims)
    found = (view.volumes.get(claim.spec.volume_name) for claim in claims if claim is not None)
    return [volume for volume in found if volume is not None]


def reaches(volume: PersistentVolume, node: Node) -> bool:
    """Whether the node is among those that the volume is for."""
    required = dig(volume.spec.node_affinity, "required")
    return required is None or selects_node(required, node)
