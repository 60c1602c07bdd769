"""The volumes behind a pod's claims, as a node asks for them: bound, and attached where they are exclusive.

The answer always comes from the server. A pod that would start upon an old answer could be the second one.
"""

from __future__ import annotations

from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES
from vacate.api.types import PersistentVolume, PersistentVolumeClaim, StorageClass
from vacate.client.client import Client
from vacate.errors import Forbidden, InvalidAttachment, NotFound, VacateError
from vacate.kube.exclusivevolumes import EXCLUSIVE, attachment_of, is_exclusive, may_start


class VolumeNotReady(VacateError):
    """A volume that the pod needs is not bound, or is not attached to this node for this pod."""


async def ready_volume(client: Client, namespace: str, claim: str, uid: str, node: str) -> PersistentVolume:
    """The volume of a claim, for this pod on this node; VolumeNotReady says what it waits for."""
    try:
        found = await client.get(PERSISTENTVOLUMECLAIMS, claim, namespace, into=PersistentVolumeClaim)
        if not found.spec.volume_name or found.status.phase != "Bound":
            raise VolumeNotReady(f"waits for claim {claim}, which is not bound to a volume yet")
        volume = await client.get(PERSISTENTVOLUMES, found.spec.volume_name, into=PersistentVolume)
    except NotFound as error:
        raise VolumeNotReady(f"waits for claim {claim}: {error}") from None
    name, owner = volume.metadata.name, volume.spec.claim_ref
    if owner is None or owner.uid != found.metadata.uid:
        raise VolumeNotReady(f"claim {claim} names volume {name}, which is not bound to it")
    if await marked_exclusive(client, volume) and not may_start(volume, uid, node):
        raise VolumeNotReady(f"waits for volume {name} to be attached to this node: {_where(volume)}")
    return volume


async def marked_exclusive(client: Client, volume: PersistentVolume) -> bool:
    """Whether one node at a time may use the volume; VolumeNotReady where that cannot be found out."""
    name = volume.spec.storage_class_name
    if not name or EXCLUSIVE in volume.metadata.annotations:
        return is_exclusive(volume, None)
    try:
        return is_exclusive(volume, await client.get(STORAGECLASSES, name, into=StorageClass))
    except NotFound:
        return False  # a class need not exist, and then marks nothing
    except Forbidden:
        raise VolumeNotReady(
            f"volume {volume.metadata.name}: this node may not read StorageClass {name}, which could mark it "
            f"as exclusive. Allow it, or annotate the volume with {EXCLUSIVE}=true or {EXCLUSIVE}=false"
        ) from None


def _where(volume: PersistentVolume) -> str:
    try:
        found = attachment_of(volume)
    except InvalidAttachment as error:
        return str(error)
    if found is None:
        return "it is not attached yet"
    where = f"node {found.node}" if found.node else "no node yet"
    return f"it is attached to {where} for pod {found.pods[0]}"
