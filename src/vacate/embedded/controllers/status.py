"""Writing a status: only the difference, on this very object in the state in which it was read."""

from __future__ import annotations

import contextlib

from vacate.api.kinds import Kind
from vacate.api.types import ObjectMeta
from vacate.api.types.meta import Projection
from vacate.client.client import Client
from vacate.errors import NotFound
from vacate.kube.patches import guarded, status_difference


async def write_status(
    client: Client, kind: Kind, meta: ObjectMeta, old: Projection, new: Projection
) -> None:
    """Write what differs, nothing where nothing does; an object that is gone needs no status."""
    difference = status_difference(old, new)
    if not difference:
        return
    patch = guarded(meta, {"status": difference})
    with contextlib.suppress(NotFound):
        await client.patch_status(kind, meta.name, patch, meta.namespace)
