"""The second layer: keys that come back at a moment. One heap and one timer, however many keys."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from vacate.clock import PassiveClock

K = TypeVar("K", bound=Hashable)

_SLACK = 1e-6
"""Timers may fire this much early, by the rounding of floats, and are then still on time."""


class Delays(Generic[K]):
    """Hands each key to `deliver` when its moment has come; of several moments the earliest counts."""

    def __init__(self, deliver: Callable[[K], object], clock: PassiveClock) -> None:
        self._deliver = deliver
        self._clock = clock
        # The one moment of each key that waits, on the monotonic clock, and the number of its entry.
        self._due: dict[K, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, K]] = []  # an entry for each of _due, and leftovers
        self._added = 0  # the newest entry's number: equal moments are served in the order of arrival
        self._timer: asyncio.TimerHandle | None = None  # set for _armed; None where nothing is to come
        self._armed = 0.0  # never later than the earliest moment in _due
        self._closed = False  # once set nothing changes any more

    def __len__(self) -> int:
        return len(self._due)

    def add_after(self, key: K, seconds: float) -> None:
        """Deliver the key in so many seconds; at once where they are not positive."""
        if self._closed:
            return
        if seconds <= 0:
            self.forget(key)
            self._deliver(key)
            return
        moment = self._clock.monotonic() + seconds
        if key in self._due and self._due[key][0] <= moment:
            return
        self._added += 1
        self._due[key] = (moment, self._added)
        heapq.heappush(self._heap, (moment, self._added, key))
        self._arm(moment)

    def forget(self, key: K) -> None:
        """Deliver the key no more, unless it is added again."""
        if self._closed:
            return
        self._due.pop(key, None)
        if not self._due:
            self._heap.clear()
            self._disarm()

    def close(self) -> None:
        """Stop for good: deliver nothing more and take nothing in. What waits stays in `state`."""
        self._closed = True
        self._disarm()

    def state(self) -> tuple[tuple[K, float], ...]:
        """Every key that waits with the seconds left, earliest first."""
        now = self._clock.monotonic()
        waiting = sorted(self._due.items(), key=lambda item: item[1])
        return tuple((key, moment - now) for key, (moment, _) in waiting)

    def _arm(self, moment: float) -> None:
        if self._timer is not None:
            if self._armed <= moment:
                return
            self._timer.cancel()
        self._armed = moment
        left = max(moment - self._clock.monotonic(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(left, self._fire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        due = self._take_due(self._clock.monotonic() + _SLACK)
        if self._heap:
            self._arm(self._heap[0][0])
        for key in due:
            self._deliver(key)

    def _take_due(self, now: float) -> list[K]:
        due: list[K] = []
        while self._heap:
            moment, added, key = self._heap[0]
            stale = self._due.get(key) != (moment, added)
            if not stale and moment > now:
                break
            heapq.heappop(self._heap)
            if not stale:
                del self._due[key]
                due.append(key)
        return due
