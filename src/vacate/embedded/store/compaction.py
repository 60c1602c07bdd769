"""Compaction by itself: keeps the history to a length, a size and an age."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from vacate.clock import Clock
from vacate.embedded.store.store import Store
from vacate.errors import StoreReadOnly


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history is kept: at most `changes` changes of at most `size` bytes, none older than `seconds`.

    All are loose by a quarter, so that compaction comes now and then and not with every write.
    """

    changes: int = 20_000
    seconds: float = 600.0
    size: int = 64 * 1024 * 1024

    @property
    def slack(self) -> int:
        """How many changes more than `changes` start a compaction."""
        return max(self.changes // 4, 1)

    @property
    def interval(self) -> float:
        """Seconds between two looks at the age of the history."""
        return self.seconds / 4


class Compactor:
    """Watches a store grow and compacts it. `run` in a task of its own, beside the open store."""

    def __init__(self, store: Store, clock: Clock, retention: Retention) -> None:
        self._store = store
        self._clock = clock
        self._retention = retention
        # When which revision was the newest, oldest first.
        self._marks: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        """Compact until the store is closed or fails, or this is cancelled."""
        try:
            while True:
                self._marks.append((self._clock.monotonic(), self._store.revision))
                await self._long_or_late()
                await self._store.compact(self._target())
        except StoreReadOnly:
            return  # the store tells why; there is nothing to compact any more

    async def _long_or_late(self) -> None:
        limit = self._store.compacted + self._retention.changes + self._retention.slack
        grown = asyncio.ensure_future(self._store.wait_for(limit))
        heavy = asyncio.ensure_future(
            self._store.wait_for_history(self._retention.size + self._retention.size // 4)
        )
        late = asyncio.ensure_future(self._clock.sleep(self._retention.interval))
        try:
            await asyncio.wait((grown, heavy, late), return_when=asyncio.FIRST_COMPLETED)
            for limit_reached in (grown, heavy):
                if limit_reached.done():
                    limit_reached.result()
        finally:
            for waiting in (grown, heavy, late):
                waiting.cancel()

    def _target(self) -> int:
        """The revision up to which nothing need be kept."""
        limit = self._clock.monotonic() - self._retention.seconds
        aged = self._store.compacted
        while self._marks and self._marks[0][0] <= limit:
            aged = self._marks.popleft()[1]
        return max(
            aged,
            self._store.revision - self._retention.changes,
            self._store.revision_to_keep(self._retention.size),
            self._store.compacted,
        )
