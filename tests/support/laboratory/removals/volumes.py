"""Rules of exclusive volumes, taken out."""

from __future__ import annotations

import msgspec
import pytest

from vacate.api.objects import Obj
from vacate.api.types import Node, PersistentVolume, Pod
from vacate.controllers.exclusivevolumes import controller as attaching
from vacate.controllers.exclusivevolumes.confirmation import why_unconfirmed
from vacate.kube.exclusivevolumes import Attachment, attachment_patch
from vacate.kube.nodes import readiness
from vacate.nodeagent.held import HeldPod
from vacate.nodeagent.leftovers import Leftovers
from vacate.nodeagent.volumes import manager as podvolumes
from vacate.nodeagent.volumes.claims import VolumeNotReady, ready_volume

Patch = pytest.MonkeyPatch
ANY_VOLUME = msgspec.convert(
    {"metadata": {"name": "disk"}, "spec": {"hostPath": {"path": "/"}}}, PersistentVolume
)


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
    def why(pod: Pod | None, node: Node | None, *, where: str, seen_to_end: bool) -> str:
        if pod is not None and pod.terminating:
            return ""
        return why_unconfirmed(pod, node, where=where, seen_to_end=seen_to_end)

    patch.setattr(attaching, "why_unconfirmed", why)


def a_node_is_ready_before_it_has_compared(patch: Patch) -> None:
    """A node that returns does not look what was removed meanwhile; its cache says so a little later."""

    async def nothing(self: Leftovers) -> list[HeldPod]:
        return []

    patch.setattr(Leftovers, "find", nothing)


def silence_frees_the_volume(patch: Patch) -> None:
    """A pod of a node that has not reported for a while is taken for ended."""
    original = attaching.ExclusiveVolumes._why_kept

    async def why(self: attaching.ExclusiveVolumes, holder: object, name: str) -> str:
        node = await self._read_node(name) if name else None
        return "" if node is not None and readiness(node) == "Unknown" else await original(self, holder, name)  # type: ignore[arg-type]

    patch.setattr(attaching.ExclusiveVolumes, "_why_kept", why)


def nobody_asks_who_runs(patch: Patch) -> None:
    """The server is not asked which pods run before a volume is given away."""

    async def nobody(*_: object) -> list[Pod]:
        return []

    patch.setattr(attaching, "running_users", nobody)


def records_are_not_remembered(patch: Patch) -> None:
    """Whom a record named is forgotten when somebody removes the record."""

    def forget(self: attaching.ExclusiveVolumes, old: object, new: object) -> None:
        return None

    patch.setattr(attaching.ExclusiveVolumes, "on_volume", forget)
