"""Rules of exclusive volumes, taken out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from vacate.api.objects import Obj
from vacate.api.types import Node, PersistentVolume, Pod
from vacate.controllers.exclusivevolumes import controller as attaching
from vacate.controllers.exclusivevolumes import gates
from vacate.controllers.exclusivevolumes.caches import VolumeCaches
from vacate.controllers.exclusivevolumes.confirmation import why_gone_unconfirmed, why_unconfirmed
from vacate.kube.exclusivevolumes import CLOSED, Attachment, attachment_patch
from vacate.kube.nodes import readiness
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.registration import NodeReconciler
from vacate.nodeagent.volumes import manager as podvolumes
from vacate.nodeagent.volumes.claims import VolumeNotReady, ready_volume
from vacate.nodeagent.volumes.inuse import VolumesInUse

Patch = pytest.MonkeyPatch
ANY_VOLUME = msgspec.convert(
    {"metadata": {"name": "disk"}, "spec": {"hostPath": {"path": "/"}}}, PersistentVolume
)


def _nodes_are_not_asked(patch: Patch) -> None:
    """What nodes list holds a volume where another rule is missing: that one is to be seen by itself."""
    patch.setattr(VolumeCaches, "listing", lambda self, volume: set())


def nobody_knows_better(patch: Patch) -> None:
    """Neither what nodes list nor whom earlier records have named puts right what a record says."""
    _nodes_are_not_asked(patch)
    records_are_not_remembered(patch)


def overwrite_the_record(patch: Patch) -> None:
    """The record of an exclusive volume is written without a look at the version that was read."""

    def blind(
        volume: PersistentVolume, new: Attachment | None, detached: tuple[Attachment, ...] | None = None
    ) -> Obj:
        made = attachment_patch(volume, new, detached)
        del made["metadata"]["resourceVersion"]
        return made

    patch.setattr(attaching, "attachment_patch", blind)


def nodes_do_not_wait(patch: Patch) -> None:
    """A node starts a pod although its volume is attached elsewhere."""
    original = ready_volume

    async def ready(client: object, namespace: str, claim: str, uid: str, node: str) -> PersistentVolume:
        try:
            return await original(client, namespace, claim, uid, node)  # type: ignore[arg-type]
        except VolumeNotReady:
            return ANY_VOLUME

    patch.setattr(podvolumes, "ready_volume", ready)


def terminating_frees_the_volume(patch: Patch) -> None:
    _nodes_are_not_asked(patch)

    def why(pod: Pod, where: str) -> str:
        return "" if pod.terminating else why_unconfirmed(pod, where)

    patch.setattr(attaching, "why_unconfirmed", why)


def silence_frees_the_volume(patch: Patch) -> None:
    """A pod of a node that has not reported for a while is taken for ended."""
    _nodes_are_not_asked(patch)
    original = attaching.ExclusiveVolumes._ended

    async def ended(
        self: attaching.ExclusiveVolumes, volume: PersistentVolume, old: Attachment | None
    ) -> tuple[Attachment | None, set[str], list[str]]:
        node = await self._read_node(old.node) if old is not None and old.node else None
        if old is not None and node is not None and readiness(node) == "Unknown":
            return old, {one.uid for one in old.pods}, []
        return await original(self, volume, old)

    patch.setattr(attaching.ExclusiveVolumes, "_ended", ended)


def nodes_do_not_list(patch: Patch) -> None:
    """A node says that it lists what it uses, and does not."""

    def note(self: VolumesInUse, folder: object, names: object) -> bool:
        return False

    patch.setattr(VolumesInUse, "note", note)


def a_ready_node_frees_the_volume(patch: Patch) -> None:
    """A pod that is gone is taken for ended as soon as its node is ready, which it says at once."""
    _nodes_are_not_asked(patch)

    async def nothing(self: NodeReconciler) -> list[PodWorker]:
        return []

    patch.setattr(NodeReconciler, "_orphans", nothing)

    def gone(volume: Any, record: Any, holder: Any, node: Node | None, *, seen_to_end: bool) -> str:
        if node is not None and readiness(node) == "True":
            return ""
        return why_gone_unconfirmed(volume, record, holder, node, seen_to_end=seen_to_end)

    patch.setattr(attaching, "why_gone_unconfirmed", gone)


def nobody_asks_who_runs(patch: Patch) -> None:
    """The server is not asked which pods run before a volume is given away."""
    _nodes_are_not_asked(patch)

    async def nobody(*_: object) -> list[Pod]:
        return []

    patch.setattr(attaching, "running_users", nobody)


def records_are_not_remembered(patch: Patch) -> None:
    """Whom a record named is forgotten when somebody removes the record."""
    _nodes_are_not_asked(patch)

    def forget(self: attaching.ExclusiveVolumes, old: object, new: object) -> None:
        return None

    patch.setattr(attaching.ExclusiveVolumes, "on_volume", forget)


def the_gate_opens_unrecorded(patch: Patch) -> None:
    """The record goes on saying that the gate is closed."""
    patch.setattr(gates, "OPENED", CLOSED)


def a_record_without_a_node_is_proof(patch: Patch) -> None:
    """A pod that is gone, and whose record names no node, is taken for one that never had any."""

    def gone(volume: Any, record: Attachment, holder: Any, node: Node | None, *, seen_to_end: bool) -> str:
        found = why_gone_unconfirmed(volume, record, holder, node, seen_to_end=seen_to_end)
        return found if record.node else ""

    patch.setattr(attaching, "why_gone_unconfirmed", gone)


def a_missing_node_is_proof(patch: Patch) -> None:
    """A pod whose Node is gone is taken for ended, as the deletion says that the machine is gone for good."""

    def gone(volume: Any, record: Attachment, holder: Any, node: Node | None, *, seen_to_end: bool) -> str:
        if record.node and node is None:
            return ""
        return why_gone_unconfirmed(volume, record, holder, node, seen_to_end=seen_to_end)

    patch.setattr(attaching, "why_gone_unconfirmed", gone)


def no_pod_waits_at_the_gate(patch: Patch) -> None:
    """The gate is removed from each pod that waits at it, whoever has the volume."""

    def anyone(volume: object, pod: object) -> bool:
        return True

    async def free(self: gates.SchedulingGates, volume: object, pod: object) -> bool:
        return False

    patch.setattr(gates, "_is_for", anyone)
    patch.setattr(gates.SchedulingGates, "_used_elsewhere", free)
