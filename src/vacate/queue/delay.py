"""The second layer: keys that come back at a moment. One heap and one timer, however many keys."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from vacate.clock import PassiveClock

K = TypeVar("K", bound=Hashable)


class Delays(Generic[K]):
    """Hands each key to `deliver` when its moment has come; of several moments the earliest counts."""

    def __init__(self, deliver: Callable[[K], object], clock: PassiveClock) -> None:
        self._deliver = deliver
        self._clock = clock
        self._due: dict[K, float] = {}  # the one moment of each key that waits, on the monotonic clock
        self._heap: list[tuple[float, int, K]] = []  # holds all of _due, and leftovers that match none
        self._added = 0  # orders keys that are due at the same moment by arrival
        self._timer: asyncio.TimerHandle | None = (
            None  # set for _armed; None where nothing waits or all is closed
        )
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
        if self._due.get(key, moment + 1) <= moment:
            return
        self._due[key] = moment
        self._added += 1
        heapq.heappush(self._heap, (moment, self._added, key))
        self._arm(moment)

    def forget(self, key: K) -> None:
        """Deliver the key no more, unless it is added again."""
        if self._closed:
            return
        self._due.pop(key, None)
        if not self._due:
            self._disarm()

    def close(self) -> None:
        """Stop for good: deliver nothing more and take nothing in. What waits stays in `state`."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def state(self) -> tuple[tuple[K, float], ...]:
        """Every key that waits with the seconds left, earliest first."""
        now = self._clock.monotonic()
        waiting = [(moment, added, key) for moment, added, key in self._heap if self._due.get(key) == moment]
        return tuple((key, moment - now) for moment, _, key in sorted(waiting, key=lambda item: item[:2]))

    def _arm(self, moment: float) -> None:
        if self._timer is not None:
            if self._armed <= moment:
                return
            self._timer.cancel()
        self._armed = moment
        left = max(moment - self._clock.monotonic(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(left, self._fire)

    def _disarm(self) -> None:
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        due: list[K] = []
        while self._heap:
            moment, _, key = self._heap[0]
            if self._due.get(key) != moment:
                heapq.heappop(self._heap)
                continue
            if moment > now:
                self._arm(moment)
                break
            heapq.heappop(self._heap)
            del self._due[key]
            due.append(key)
        for key in due:
            self._deliver(key)
