"""Those who wait for a revision to be reached."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count

from vacate.errors import StoreReadOnly


class Progress:
    """Waiters by revision."""

    def __init__(self) -> None:
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []  # a heap
        self._order = count()
        self._ended: str | None = None  # why no more revisions come

    async def wait_for(self, revision: int) -> None:
        """Return when `reached` was called with that revision or a later one."""
        if self._ended is not None:
            raise StoreReadOnly(self._ended)
        waiter = asyncio.get_running_loop().create_future()
        heappush(self._waiters, (revision, next(self._order), waiter))
        await waiter

    def reached(self, revision: int) -> None:
        """Wake those who wait for this revision or an earlier one."""
        waiters = self._waiters
        while waiters and waiters[0][0] <= revision:
            waiter = heappop(waiters)[2]
            if not waiter.done():
                waiter.set_result(None)

    def fail(self, reason: str) -> None:
        """Tell all who wait, and all who come, that no more revisions come."""
        self._ended = self._ended or reason
        waiters, self._waiters = self._waiters, []
        for _, _, waiter in waiters:
            if not waiter.done():
                waiter.set_exception(StoreReadOnly(self._ended))
