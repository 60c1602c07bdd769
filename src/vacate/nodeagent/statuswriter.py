"""Reports the status of pods to the API server, and keeps what it answered."""

from __future__ import annotations

import asyncio
import datetime as dt

import msgspec

from vacate.api.kinds import PODS
from vacate.client.client import Client
from vacate.client.requests import STRATEGIC_PATCH
from vacate.errors import NotFound
from vacate.kube.patches import pod_status_patch
from vacate.nodeagent.held import HeldPod
from vacate.nodeagent.podterminations import PodTerminations
from vacate.nodeagent.status import rejected_status, status_of
from vacate.nodeagent.view import AgentPod


class StatusWriter:
    """Writes what differs from the status that is known. `written` is set by each write."""

    def __init__(self, client: Client, ends: PodTerminations) -> None:
        self._client = client
        self._ends = ends
        self.written = asyncio.Event()

    async def write(self, held: HeldPod, now: dt.datetime) -> None:
        """Bring the status up to date."""
        assert held.pod is not None
        meta = held.pod.metadata
        if held.rejected:
            wanted = held.pod.status if held.pod.terminal else rejected_status(now)
        else:
            end = held.end.cause if held.end is not None and self._ends.begun(held) else None
            wanted = status_of(held.pod, held.progress, held.where, now, held.phase, end=end)
        patch = pod_status_patch(held.pod.status, wanted, meta.uid)
        if patch is None:
            return
        try:
            answer = await self._client.patch(
                PODS, meta.name, patch, meta.namespace, patch_type=STRATEGIC_PATCH, subresource="status"
            )
        except NotFound:
            return  # the watch will say so, too
        held.pod = held.written = msgspec.convert(answer, AgentPod)
        self.written.set()


def newer(written: AgentPod | None, cached: AgentPod) -> AgentPod:
    """What the last write returned, until the cache has caught up with it."""
    if written is None or written.metadata.uid != cached.metadata.uid:
        return cached
    return max(cached, written, key=_version)


def _version(pod: AgentPod) -> int:
    text = pod.metadata.resource_version
    return int(text) if text.isdigit() else 0
