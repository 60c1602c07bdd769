"""Volumes that one node at a time may use: how they are marked, and the record of where one is attached.

The record is an annotation of the PersistentVolume. It is only ever written upon the version that was read,
so that of two writers one loses: compare and swap. It names a node and the pods, by UID, that may use the
volume there. A node starts a pod only if the record names that pod and that node.
"""

from __future__ import annotations

import datetime as dt

import msgspec

from vacate.api.names import dns1123_label, dns1123_subdomain
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types import Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass, condition
from vacate.errors import InvalidAttachment
from vacate.kube.patches import guarded
from vacate.wire.json import decode_json

EXCLUSIVE = "vacate.dev/exclusive"
"""On a PersistentVolume or its StorageClass, with the value true; on a volume, false overrides its class."""

ATTACHMENT = "vacate.dev/attachment"
DETACHED = "vacate.dev/detached"
"""From which nodes a person has taken the volume, until it is certain that its pods have terminated there."""

GATE = "vacate.dev/exclusive-volumes"
"""The scheduling gate of pods that wait for their volumes before they get a node."""

OPT_IN, OPTED_IN = "vacate.dev/exclusive-volumes", "enabled"
"""The label of a namespace whose pods with claims must have the gate, which only the manager removes."""

READY_TO_START = "PodReadyToStartContainers"

MAX_HOLDERS = 100

ALL_LISTED = "vacate.dev/exclusive-volumes"
"""In a node's volumesInUse: every exclusive volume in use there is listed, and was before a pod used it."""

CLOSED, OPENED = "closed", "opened"
"""Of the scheduling gate of a pod for which the volume is kept: a closed one proves that it never ran."""


class Holder(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pod that may use the volume."""

    namespace: str
    name: str
    uid: str
    gone: bool = False  # the pod object was found to be gone, its end is not confirmed; it may not start
    boot: str = ""  # the boot ID of its node at that time

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a volume is attached. Without a node it is kept for a pod that has none yet."""

    node: str = ""
    pods: tuple[Holder, ...] = ()
    since: str = ""
    gate: str = ""  # while there is no node: whether the pod may have been scheduled
    listed: bool = False  # whether the node has listed the volume as in use since it was attached
    deleted: str = ""  # while there is no such Node: how it was known at its deletion that it was off

    def names(self, uid: str) -> bool:
        """Whether the pod may use the volume, or may have used it."""
        return any(holder.uid == uid for holder in self.pods)

    def admits(self, uid: str) -> bool:
        """Whether the pod may start with it: no longer once it was found to be gone."""
        return any(holder.uid == uid and not holder.gone for holder in self.pods)


def is_exclusive(volume: PersistentVolume, storage_class: StorageClass | None) -> bool:
    """Whether one node at a time may use the volume."""
    own = volume.metadata.annotations.get(EXCLUSIVE)
    if own is None and storage_class is not None:
        own = storage_class.metadata.annotations.get(EXCLUSIVE)
    return own == "true"


def attachment_of(volume: PersistentVolume) -> Attachment | None:
    """Where the volume is attached, None where it is free; InvalidAttachment where that cannot be read."""
    text = volume.metadata.annotations.get(ATTACHMENT)
    if text is None:
        return None
    name = volume.metadata.name
    try:
        found = _checked(decode_json(text, Attachment))
    except ValueError as error:
        raise InvalidAttachment(
            f"volume {name}: its annotation {ATTACHMENT} cannot be read ({error}), so that it is not known "
            "where it is attached, and it stays where it is. Find out which node uses it; "
            f"vacate detach {name} frees it"
        ) from None
    if not found.pods:
        raise InvalidAttachment(
            f"volume {name}: its annotation {ATTACHMENT} names no pod, and it stays where it is. Find out "
            f"which node uses it; vacate detach {name} frees it"
        )
    return found


def detached_of(volume: PersistentVolume) -> tuple[Attachment, ...]:
    """What a person has taken from nodes that have not confirmed yet; InvalidAttachment as above."""
    text = volume.metadata.annotations.get(DETACHED)
    if text is None:
        return ()
    try:
        return tuple(map(_checked, decode_json(text, tuple[Attachment, ...])))
    except ValueError as error:
        name = volume.metadata.name
        raise InvalidAttachment(
            f"volume {name}: its annotation {DETACHED} cannot be read ({error}), so that it is not known "
            "from which nodes it was taken, and it stays where it is. Find out which node uses it; "
            f"vacate detach {name} frees it"
        ) from None


def _checked(found: Attachment) -> Attachment:
    """ValueError for names that nothing can have: who looks for it would fail, and the record would stand."""
    for holder in found.pods:
        if dns1123_label(holder.namespace) or dns1123_subdomain(holder.name) or not holder.uid:
            raise ValueError("it names something that cannot be a pod")
    if found.node and dns1123_subdomain(found.node):
        raise ValueError("it names something that cannot be a node")
    return found


def may_start(volume: PersistentVolume, uid: str, node: str) -> bool:
    """Whether a node may start the pod, as far as this exclusive volume goes."""
    try:
        found, detached = attachment_of(volume), detached_of(volume)
    except InvalidAttachment:
        return False
    if any(one.node == node for one in detached):
        return False  # it has not confirmed yet that what used the volume there has ended
    return found is not None and found.node == node and found.admits(uid)


def attachment_patch(
    volume: PersistentVolume, new: Attachment | None, detached: tuple[Attachment, ...] | None = None
) -> Obj:
    """The write that swaps the record, refused if the volume has changed since it was read.

    `detached` replaces what was taken from nodes by hand; None leaves that as it is.
    """
    annotations = {ATTACHMENT: None if new is None else msgspec.json.encode(new).decode()}
    if detached is not None:
        annotations[DETACHED] = msgspec.json.encode(detached).decode() if detached else None
    return guarded(volume.metadata, {"metadata": {"annotations": annotations}})


def has_started(pod: Pod) -> bool:
    """Whether the status of a pod shows that something of it has run, so that its volumes are in use.

    Init containers run while the phase is Pending.
    """
    status = pod.status
    if status.phase not in ("", "Pending"):
        return True
    if any(one.container_id for one in (*status.init_container_statuses, *status.container_statuses)):
        return True
    found = condition(status.conditions, READY_TO_START)
    return found is not None and found.status == "True"


def uses_volumes(pod: Pod) -> bool:
    """Whether the pod uses its volumes on a node, as far as is known: it has started and has not ended."""
    return bool(pod.spec.node_name) and has_started(pod) and not pod.terminal


def names_in_use(volume: PersistentVolume) -> set[str]:
    """How nodes name the volume while they use it: our own by its name, kubelets by what it lies on."""
    spec, names = volume.spec, {f"{ALL_LISTED}/{volume.metadata.name}"}
    if spec.csi is not None:
        names.add(f"kubernetes.io/csi/{spec.csi.get('driver')}^{spec.csi.get('volumeHandle')}")
    if (disk := spec.iscsi) is not None:
        names.add(f"kubernetes.io/iscsi/{disk.get('targetPortal')}:{disk.get('iqn')}:{disk.get('lun', 0)}")
    if (disk := spec.fc) is not None:
        wwns, wwids = (" ".join(disk.get(key) or ()) for key in ("targetWWNs", "wwids"))
        names.add(
            f"kubernetes.io/fc/[{wwns}]:{disk.get('lun', 0)}" if wwns else f"kubernetes.io/fc/[{wwids}]"
        )
    return names


def lists(node: Node, volume: PersistentVolume) -> bool:
    """Whether the node has reported that it uses the volume, and not that it has ceased to.

    A node reports that before it mounts the volume, and withdraws it only when nothing uses it any more, so
    that what the server has stored errs on the safe side however old it is.
    """
    return not names_in_use(volume).isdisjoint(node.status.volumes_in_use)


def attach(pod: Pod, now: dt.datetime) -> Attachment:
    """The record for a pod, on its node where it has one."""
    node = pod.spec.node_name
    gate = CLOSED if waits_at_gate(pod) and not node else ""
    return Attachment(node, (holder_of(pod),), format_time(now), gate)


def holder_of(pod: Pod) -> Holder:
    """The pod, as the record names it."""
    meta = pod.metadata
    return Holder(meta.namespace, meta.name, meta.uid)


def waits_at_gate(pod: Pod) -> bool:
    """Whether the pod has no node yet and waits for its volumes."""
    return any(gate.get("name") == GATE for gate in pod.spec.scheduling_gates)


def awaits_volumes(pod: Pod) -> bool:
    """Whether the pod has claims and has not started, so that it may wait for a volume."""
    return bool(pod.claims) and not has_started(pod) and not pod.terminating


def binds_late(claim: PersistentVolumeClaim, storage_class: StorageClass | None) -> bool:
    """Whether the claim has no volume before a pod that uses it has a node: there the scheduler chooses."""
    mode = storage_class.volume_binding_mode if storage_class is not None else ""
    return not claim.spec.volume_name and mode == "WaitForFirstConsumer"
