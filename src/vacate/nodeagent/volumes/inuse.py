"""What a node reports of the exclusive volumes that it uses.

A volume is in the Node's `volumesInUse` before a pod starts with it, and until none of the pod's processes is
left. So the controller can give it to another node as soon as it is not listed, also where a pod was removed
by force. The disk remembers which pods may use which volumes: the agent may be killed at any moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from vacate.api.kinds import NODES
from vacate.api.types import Node
from vacate.client.client import Client
from vacate.client.privatefile import write_private
from vacate.kube.exclusivevolumes import ALL_LISTED
from vacate.kube.patches import guarded
from vacate.nodeagent.volumes.storage import PodFolder

_FILE = "exclusive-volumes"


def listing(volumes: Iterable[str]) -> list[str]:
    """The value of `volumesInUse`: the volumes by name, and that these are all."""
    return [ALL_LISTED, *sorted({f"{ALL_LISTED}/{name}" for name in volumes})]


async def report_volumes(client: Client, node: str, wanted: list[str]) -> None:
    """Return when the server has stored the list.

    Only upon the version that was read: a write that arrives late must not withdraw what was listed since.
    """
    found = await client.get(NODES, node, into=Node)
    if found.status.volumes_in_use != wanted:
        change = guarded(found.metadata, {"status": {"volumesInUse": wanted}})
        await client.patch_status(NODES, node, change)


@dataclass(eq=False)
class VolumesInUse:
    """The exclusive volumes of the pods that have a folder on this machine."""

    client: Client
    pods_folder: Path
    node: str
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def listing(self) -> list[str]:
        """What the Node must say."""
        files = self.pods_folder.glob(f"*/{_FILE}")
        return listing(name for file in files for name in file.read_text("ascii").split())

    def note(self, folder: PodFolder, names: Iterable[str]) -> bool:
        """The pod of this folder may use these volumes from now on; whether that is new."""
        file, text = folder.root / _FILE, "\n".join(sorted(names))
        if file.exists() and file.read_text("ascii") == text:
            return False
        write_private(file, text.encode("ascii"), mode=0o644)
        return True

    def noted(self, folder: PodFolder) -> bool:
        """Whether the pod of this folder may use an exclusive volume."""
        return (folder.root / _FILE).exists()

    def forget(self, folder: PodFolder) -> None:
        """It does not: it was not started."""
        (folder.root / _FILE).unlink(missing_ok=True)

    async def report(self) -> None:
        """Return when the server knows what is in use."""
        async with self._lock:
            await report_volumes(self.client, self.node, self.listing)
