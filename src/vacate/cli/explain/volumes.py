"""The exclusive volumes of a pod, as `vacate explain` reads them."""

from __future__ import annotations

from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES
from vacate.api.types import PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from vacate.cli.common.connection import Cluster
from vacate.errors import Forbidden, NotFound
from vacate.kube.exclusivevolumes import EXCLUSIVE, is_exclusive


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


async def _class_of(cluster: Cluster, volume: PersistentVolume) -> StorageClass | None:
    name = volume.spec.storage_class_name
    if not name or EXCLUSIVE in volume.metadata.annotations:
        return None
    try:
        return await cluster.client.get(STORAGECLASSES, name, into=StorageClass)
    except (NotFound, Forbidden):
        return None
