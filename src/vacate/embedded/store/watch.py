"""One watcher: a bounded buffer of changes, read in batches."""

from __future__ import annotations

import asyncio
from typing import Protocol

from vacate.embedded.store.types import Change, Scope
from vacate.errors import WatchOverrun

TAKE = 1000
"""Most changes handed over at once while a watcher catches up with history."""
MAX_BUFFERED_BYTES = 32 * 1024 * 1024
"""Most bytes of objects that wait for one slow watcher."""


class Source(Protocol):
    """Where a watch is registered."""

    revision: int

    def remove(self, watch: Watch) -> None:
        """Forget the watch."""
        ...


class Watch:
    """An asynchronous iterator over batches of changes, in the order of their revisions, none left out.

    Ends with WatchOverrun after the last change that fitted, when the taker was too slow; ends plainly when
    it or the store was closed. One task may wait at a time; cancelling it loses nothing.
    """

    def __init__(self, source: Source, scope: Scope, backlog: list[Change], capacity: int) -> None:
        self.scope = scope
        self._source = source
        self._capacity = capacity
        # History to catch up with, newest first. It is shared with the store and so does not count as buffer.
        self._backlog = backlog[::-1]
        self._buffer: list[Change] = []
        self._buffered = 0  # bytes of the objects in the buffer
        self._waiter: asyncio.Future[None] | None = None
        self._ended_at: int | None = (
            None  # revision up to which the changes were delivered, once it has ended
        )
        self._overrun = False

    @property
    def revision(self) -> int:
        """Everything up to this revision has been taken out or did not match."""
        if self._backlog:
            return self._backlog[-1].revision - 1
        if self._buffer:
            return self._buffer[0].revision - 1
        return self._source.revision if self._ended_at is None else self._ended_at

    @property
    def closed(self) -> bool:
        """Whether no more changes are collected."""
        return self._ended_at is not None

    def push(self, change: Change) -> bool:
        """Add a change; False when that is the end because the buffer is full.

        One commit may be larger than the buffer: only what was there before it shows that a taker is slow.
        """
        buffer = self._buffer
        full = len(buffer) >= self._capacity or self._buffered >= MAX_BUFFERED_BYTES
        if full and buffer[0].revision <= self._source.revision:
            self._overrun = True
            self.finish(change.revision - 1)
            return False
        buffer.append(change)
        self._buffered += len(change.after.value)
        self._wake()
        return True

    def finish(self, revision: int) -> None:
        """Collect no more; what is buffered can still be taken."""
        if self._ended_at is None:
            self._ended_at = revision
            self._wake()

    def close(self) -> None:
        """Stop watching and drop what was not taken. May be called any number of times."""
        reached = self.revision
        if self._ended_at is None:
            self._source.remove(self)
        self._ended_at = reached
        self._overrun = False
        self._backlog.clear()
        self._buffer.clear()
        self._buffered = 0
        self._wake()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> list[Change]:
        changes = await self.take()
        assert changes is not None, "without a limit it waits for changes"
        return changes

    async def take(self, until: float | None = None) -> list[Change] | None:
        """The next changes; None where none have come by that time of the loop. At the end as an iteration.

        A timer that wakes the taker, and no timeout that cancels it: idle watches do little else than this.
        """
        if self._waiter is not None:
            raise RuntimeError("a watch can be taken from by one task at a time")
        timer: asyncio.TimerHandle | None = None
        is_late = False

        def expire() -> None:
            nonlocal is_late
            is_late = True
            self._wake()

        try:
            while True:
                if self._backlog:
                    return self._take_backlog()
                if self._buffer:
                    taken, self._buffer, self._buffered = self._buffer, [], 0
                    return taken
                if self._ended_at is not None:
                    raise self._end_error()
                if is_late:
                    return None
                if until is not None and timer is None:
                    timer = asyncio.get_running_loop().call_at(until, expire)
                await self._wait()
        finally:
            if timer is not None:
                timer.cancel()

    def _end_error(self) -> Exception:
        if self._overrun:
            return WatchOverrun(
                f"more than {self._capacity} changes or {MAX_BUFFERED_BYTES} bytes were not taken in time"
            )
        return StopAsyncIteration()

    def _take_backlog(self) -> list[Change]:
        taken = self._backlog[-TAKE:]
        del self._backlog[-TAKE:]
        taken.reverse()
        return taken

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
