"""Those who wait for a revision to be reached."""

from __future__ import annotations

import asyncio
from heapq import heapify, heappop, heappush
from itertools import count

from vacate.errors import StoreReadOnly


class Progress:
    """Waiters by revision."""

    def __init__(self) -> None:
        # A heap. The future tells whether the revision was reached.
        self._waiters: list[tuple[int, int, asyncio.Future[bool]]] = []
        self._order = count()
        self._ended: str | None = None  # why no more revisions come

    async def wait_for(self, revision: int) -> None:
        """Return when `reached` was called with that revision or a later one."""
        if self._ended is not None or not await self._turn(revision):
            raise StoreReadOnly(self._ended)

    async def _turn(self, revision: int) -> bool:
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiting = (revision, next(self._order), waiter)
        heappush(self._waiters, waiting)
        try:
            return await waiter
        finally:
            # A cancelled waiter is removed: those for revisions that never come must not pile up.
            if waiter.cancelled() and waiting in self._waiters:
                self._waiters.remove(waiting)
                heapify(self._waiters)

    def reached(self, revision: int) -> None:
        """Wake those who wait for this revision or an earlier one."""
        while self._waiters and self._waiters[0][0] <= revision:
            _settle(heappop(self._waiters)[2], True)

    def fail(self, reason: str) -> None:
        """Tell all who wait, and all who come, that no more revisions come."""
        self._ended = self._ended or reason
        while self._waiters:
            _settle(heappop(self._waiters)[2], False)


def _settle(waiter: asyncio.Future[bool], reached: bool) -> None:
    if not waiter.done():
        waiter.set_result(reached)
