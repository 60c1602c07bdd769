"""What one process remembers of the evictions that it has requested for a maintenance."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest

CACHE_LAG = dt.timedelta(seconds=30)
"""A request that was made is taken as made for so long, though the cache does not show it."""

FIRST_PAUSE, MAX_PAUSE = 1.0, 60.0
"""Seconds between two requests for one pod, when another client deletes the first or it is refused."""


@dataclass(slots=True)
class Attempt:
    """A request that was made for a pod: when, how often, and why it was refused."""

    at: dt.datetime
    count: int = 1
    refused: str = ""
    request: EvictionRequest | None = None


@dataclass(slots=True)
class Attempts:
    """What this process remembers of one maintenance. Losing it costs a few requests, and nothing else."""

    by_pod: dict[str, Attempt] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)  # the nodes that carried the claim at the last look
    empty: set[str] = field(default_factory=set)  # nodes on which the API server has shown no pods left

    def due(self, pod: Pod, now: dt.datetime) -> dt.datetime | None:
        """When the pod may be requested again; None where at once."""
        found = self.by_pod.get(pod.metadata.uid)
        if found is None:
            return None
        pause = min(FIRST_PAUSE * 2.0 ** min(found.count - 1, 10), MAX_PAUSE)
        due = found.at + dt.timedelta(seconds=pause)
        # A clock that was set back must not hold a drain.
        return due if now < due <= now + dt.timedelta(seconds=MAX_PAUSE) else None

    def made(self, pod: Pod, now: dt.datetime) -> EvictionRequest | None:
        """The request that was just made for the pod, which the cache may not show yet."""
        found = self.by_pod.get(pod.metadata.uid)
        return found.request if found is not None and abs(now - found.at) < CACHE_LAG else None

    def refused(self) -> dict[str, str]:
        """By the UID of the pod: why its last request was refused."""
        return {uid: one.refused for uid, one in self.by_pod.items() if one.refused}

    def keep(self, uids: set[str]) -> None:
        """Forget all other pods."""
        self.by_pod = {uid: one for uid, one in self.by_pod.items() if uid in uids}
