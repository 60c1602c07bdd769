"""Pods that wait for the scheduler: which is next, and which wait for the cluster to change."""

from __future__ import annotations

import heapq

from vacate.api.types import Pod
from vacate.runtime.reconcile import Key


class PendingPods:
    """Pods without a node. Higher priority goes first, then who came first."""

    def __init__(self) -> None:
        self._arrivals = 0
        self._line: list[tuple[int, int, Key]] = []
        # The place in line that counts; older entries of the same pod in the line are skipped.
        self._open: dict[Key, int] = {}
        self._stuck: dict[Key, Pod] = {}

    def admit(self, key: Key, pod: Pod) -> None:
        """The pod is to be tried, again or for the first time."""
        self._stuck.pop(key, None)
        self._arrivals += 1
        self._open[key] = self._arrivals
        heapq.heappush(self._line, (-(pod.spec.priority or 0), self._arrivals, key))

    def set_aside(self, key: Key, pod: Pod) -> None:
        """No node took the pod; it waits until something changes."""
        if key not in self._open:
            self._stuck[key] = pod

    def remove(self, key: Key) -> None:
        """The pod no longer needs a node."""
        self._open.pop(key, None)
        self._stuck.pop(key, None)

    def next(self) -> Key | None:
        """Take the first in line."""
        while self._line:
            _, arrival, key = heapq.heappop(self._line)
            if self._open.get(key) == arrival:
                del self._open[key]
                return key
        return None

    def stuck(self) -> list[tuple[Key, Pod]]:
        """Everyone who waits for a change, first come first."""
        return list(self._stuck.items())
