"""Waiting for the next change of something that is being watched."""

from __future__ import annotations

import asyncio


class Changes:
    """Wakes everyone who waits, each time something changes."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def notify(self) -> None:
        """Something changed."""
        current, self._next = self._next, asyncio.get_running_loop().create_future()
        current.set_result(None)

    async def wait(self) -> None:
        """Return at the next change."""
        await asyncio.shield(self._next)
