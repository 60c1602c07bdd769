"""The exclusive volumes of a pod, as `vacate explain` reads them."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.kinds import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES
from vacate.api.types import Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from vacate.cli.common.connection import Cluster
from vacate.errors import Forbidden, InvalidAttachment, NotFound
from vacate.kube.exclusivevolumes import (
    EXCLUSIVE,
    attachment_of,
    binds_late,
    is_exclusive,
    waits_at_gate,
)
from vacate.kube.nodes import readiness
from vacate.views.awaitedvolumes import (
    LostNodes,
    awaited_claims,
    claims_on_several_nodes,
    held_volume_notes,
    shared_volume_notes,
)


async def exclusive_volumes(cluster: Cluster, pod: Pod) -> list[PersistentVolume]:
    """Those that are bound to its claims; none that the user may not read."""
    found = []
    for claim in dict.fromkeys(pod.claims):
        try:
            bound = await cluster.client.get(
                PERSISTENTVOLUMECLAIMS, claim, pod.metadata.namespace, into=PersistentVolumeClaim
            )
            if not bound.spec.volume_name:
                continue
            volume = await cluster.client.get(
                PERSISTENTVOLUMES, bound.spec.volume_name, into=PersistentVolume
            )
        except (NotFound, Forbidden):
            continue
        if is_exclusive(volume, await _class_of(cluster, volume)):
            found.append(volume)
    return found


async def late_claims(cluster: Cluster, pod: Pod) -> list[tuple[str, str]]:
    """The claims that keep a pod at its gate, as they are bound only when it has a node; with their classes.

    Where neither class nor volume is exclusive, the manager opens the gate.
    """
    found = []
    for name in dict.fromkeys(pod.claims) if waits_at_gate(pod) else ():
        try:
            claim = await cluster.client.get(
                PERSISTENTVOLUMECLAIMS, name, pod.metadata.namespace, into=PersistentVolumeClaim
            )
            chosen = claim.spec.storage_class_name or ""
            one = await cluster.client.get(STORAGECLASSES, chosen, into=StorageClass) if chosen else None
            if one is not None and binds_late(claim, one) and await _has_exclusive(cluster, one):
                found.append((name, chosen))
        except (NotFound, Forbidden):
            continue
    return found


async def _has_exclusive(cluster: Cluster, storage_class: StorageClass) -> bool:
    """Whether a claim of the class may get an exclusive volume."""
    if storage_class.metadata.annotations.get(EXCLUSIVE) == "true":
        return True
    volumes = (await cluster.client.list(PERSISTENTVOLUMES, into=PersistentVolume)).items
    name = storage_class.metadata.name
    there = [one for one in volumes if one.spec.storage_class_name == name and one.spec.claim_ref is None]
    return any(is_exclusive(one, storage_class) for one in there)


async def _class_of(cluster: Cluster, volume: PersistentVolume) -> StorageClass | None:
    name = volume.spec.storage_class_name
    if not name or EXCLUSIVE in volume.metadata.annotations:
        return None
    try:
        return await cluster.client.get(STORAGECLASSES, name, into=StorageClass)
    except (NotFound, Forbidden):
        return None


async def lost_nodes(cluster: Cluster, volumes: Sequence[PersistentVolume]) -> LostNodes:
    """The nodes that have these volumes and do not report, or are gone, as far as the user may read them."""
    silent, missing = set[str](), set[str]()
    for volume in volumes:
        name = ""
        try:
            found = attachment_of(volume)
            if found is not None and (name := found.node):
                node = await cluster.client.get(NODES, name, into=Node)
                silent |= {name} if readiness(node) != "True" else set()
        except NotFound:
            missing.add(name)
        except (InvalidAttachment, Forbidden):
            continue
    return LostNodes(silent, missing)


async def volumes_notes(cluster: Cluster, namespace: str) -> list[str]:
    """Sentences about exclusive volumes with which pods run on several nodes, or for which pods wait in vain.

    As far as the user may see. Volumes are listed only if a claim is in use on several nodes, or a pod waits
    for its claims, as few do.
    """
    try:
        pods = (await cluster.client.list(PODS, namespace, into=Pod)).items
        claims = {*claims_on_several_nodes(pods), *awaited_claims(pods)}
        if not claims:
            return []
        volumes = (await cluster.client.list(PERSISTENTVOLUMES, into=PersistentVolume)).items
        classes = (await cluster.client.list(STORAGECLASSES, into=StorageClass)).items
    except (NotFound, Forbidden):
        return []
    named = {one.metadata.name: one for one in classes}
    exclusive = [
        one
        for one in volumes
        if (claim := one.spec.claim_ref) is not None
        and (claim.namespace, claim.name) in claims
        and is_exclusive(one, named.get(one.spec.storage_class_name))
    ]
    lost = await lost_nodes(cluster, exclusive)
    return [*shared_volume_notes(exclusive, pods), *held_volume_notes(exclusive, pods, lost)]


async def pods_of_namespace(cluster: Cluster, pod: Pod) -> Sequence[Pod]:
    """The pods beside it, as far as the user may list them."""
    try:
        return (await cluster.client.list(PODS, pod.metadata.namespace, into=Pod)).items
    except Forbidden:
        return ()
