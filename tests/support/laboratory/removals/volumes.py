"""Rules of exclusive volumes, taken out."""

from __future__ import annotations

import msgspec
import pytest

from vacate.api.objects import Obj
from vacate.api.types import Node, PersistentVolume, Pod
from vacate.controllers.exclusivevolumes import controller as attaching
from vacate.kube.exclusivevolumes import Attachment, attachment_patch
from vacate.kube.nodes import readiness
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
    nobody_asks_who_runs(patch)


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
        return "" if pod is None or pod.terminating or pod.terminal else "the pod uses it"

    patch.setattr(attaching, "why_unconfirmed", why)
    nobody_asks_who_runs(patch)


def silence_frees_the_volume(patch: Patch) -> None:
    """A pod of a node that has not reported for a while is taken for ended."""
    original = attaching.ExclusiveVolumes._why_kept

    async def why(self: attaching.ExclusiveVolumes, holder: object, name: str) -> str:
        node = await self._read_node(name) if name else None
        return "" if node is not None and readiness(node) == "Unknown" else await original(self, holder, name)  # type: ignore[arg-type]

    patch.setattr(attaching.ExclusiveVolumes, "_why_kept", why)
    nobody_asks_who_runs(patch)


def nobody_asks_who_runs(patch: Patch) -> None:
    """The server is not asked which pods run before a volume is given away.

    That look stands behind three of the other rules here, and is taken out with each of them.
    """

    async def nobody(*_: object) -> list[Pod]:
        return []

    patch.setattr(attaching, "running_users", nobody)


def records_are_not_remembered(patch: Patch) -> None:
    """Whom a record named is forgotten when somebody removes the record."""

    def forget(self: attaching.ExclusiveVolumes, old: object, new: object) -> None:
        return None

    patch.setattr(attaching.ExclusiveVolumes, "on_volume", forget)
