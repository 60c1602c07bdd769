"""Events of the exclusive volume controllers, on the volume and on the pods."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import PERSISTENTVOLUMES, PODS
from vacate.api.types import PersistentVolume, Pod
from vacate.kube.exclusivevolumes import OPT_IN, OPTED_IN, Attachment
from vacate.views.awaitedvolumes import late_claim_sentence

MAX_MESSAGE = 1024


def changed(volume: PersistentVolume, old: Attachment | None, new: Attachment | None) -> EventNote | None:
    """The volume is attached somewhere else, or nowhere; pods that join or end say nothing."""
    about, before, after = regarding(PERSISTENTVOLUMES, volume), old and old.node, new and new.node
    if new is None and old is not None:
        return EventNote(
            about, NORMAL, "VolumeDetached", f"Detached from {_where(old)}: its pods have terminated"
        )
    if new is None or before == after:
        return None
    return EventNote(about, NORMAL, "VolumeAttached", f"Attached to {_where(new)} for pod {new.pods[0]}")


def held(volume: PersistentVolume, old: Attachment, why: str) -> EventNote:
    """The volume stays, because a pod is not known to have terminated."""
    message = f"Stays attached to {_where(old)} for pod {old.pods[0]}: {why}"
    return EventNote(regarding(PERSISTENTVOLUMES, volume), WARNING, "VolumeHeld", message[:MAX_MESSAGE])


def waiting(pod: Pod, volume: PersistentVolume, held_by: Attachment, why: str) -> EventNote:
    """A pod waits for the volume."""
    message = (
        f"Waits for volume {volume.metadata.name}, which is attached to {_where(held_by)} for pod "
        f"{held_by.pods[0]}"
    )
    text = f"{message}: {why}" if why else message
    return EventNote(regarding(PODS, pod), WARNING, "WaitingForVolume", text[:MAX_MESSAGE])


def binds_late(pod: Pod, claim: str, storage_class: str) -> EventNote:
    """A pod waits at its gate for a claim that is bound only when the pod has a node."""
    message = f"Waits at its scheduling gate. {late_claim_sentence(claim, storage_class)}"
    return EventNote(regarding(PODS, pod), WARNING, "WaitingForVolume", message[:MAX_MESSAGE])


def shared(pod: Pod, volume: PersistentVolume, running: Sequence[Pod]) -> EventNote:
    """The pod runs with the volume beside pods on other nodes."""
    others = ", ".join(
        f"{one.metadata.namespace}/{one.metadata.name} on {one.spec.node_name}"
        for one in running
        if one.spec.node_name != pod.spec.node_name
    )
    message = (
        f"Runs with exclusive volume {volume.metadata.name} at the same time as {others}: the data may be "
        f"destroyed. Delete one of them, and label the namespace {OPT_IN}={OPTED_IN} to prevent it"
    )
    return EventNote(regarding(PODS, pod), WARNING, "VolumeShared", message[:MAX_MESSAGE])


def contested(volume: PersistentVolume, running: Sequence[Pod]) -> EventNote:
    """Pods on several nodes run with the volume, and no record says whose it is."""
    where = ", ".join(
        f"{pod.metadata.namespace}/{pod.metadata.name} on {pod.spec.node_name}" for pod in running
    )
    message = f"Is not attached: pods use it on several nodes ({where})"
    return EventNote(regarding(PERSISTENTVOLUMES, volume), WARNING, "VolumeHeld", message[:MAX_MESSAGE])


def listed(volume: PersistentVolume, nodes: Sequence[str]) -> EventNote:
    """No record says who has the volume, but a node reports that it uses it."""
    message = (
        f"Is not attached: node {', '.join(nodes)} reports that it uses it. If you know that nothing there "
        f"writes to it, run: vacate detach {volume.metadata.name} --confirm"
    )
    return EventNote(regarding(PERSISTENTVOLUMES, volume), WARNING, "VolumeHeld", message[:MAX_MESSAGE])


def unreadable(volume: PersistentVolume, why: str) -> EventNote:
    """The record of the volume cannot be read."""
    return EventNote(regarding(PERSISTENTVOLUMES, volume), WARNING, "InvalidAttachment", why[:MAX_MESSAGE])


def _where(attachment: Attachment) -> str:
    return f"node {attachment.node}" if attachment.node else "no node yet"
