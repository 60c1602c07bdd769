"""The pods of a Deployment during one turn, read from the server when they may have changed."""

from __future__ import annotations

import datetime as dt

from vacate.api.types import Deployment, Pod
from vacate.errors import ApiError, TransportError
from vacate.interceptors.surge.view import SurgeView

READ_INTERVAL = dt.timedelta(seconds=10)
"""Between two reads of a Deployment's pods, unless the Deployment has changed."""


class LivePods:
    """Remembers the last read of one turn."""

    def __init__(self, view: SurgeView) -> None:
        self._view = view
        self._pods: list[Pod] | None = None
        self._read_at: dt.datetime | None = None
        self._version = ""

    def forget(self) -> None:
        """Have the next look read anew."""
        self._read_at = None

    async def look(self, deployment: Deployment, now: dt.datetime) -> list[Pod] | None:
        """The pods; None where they could not be read."""
        version = deployment.metadata.resource_version
        recently = self._read_at is not None and abs(now - self._read_at) < READ_INTERVAL
        if recently and version == self._version:
            return self._pods
        try:
            self._pods = await self._view.live_pods(deployment)
        except (ApiError, TransportError):
            return None
        self._read_at, self._version = now, version
        return self._pods
