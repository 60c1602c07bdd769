"""The first layer: a queue that holds each key once and never gives it to two workers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class DedupeState(Generic[K]):
    """The layer's whole state, to be compared in tests and shown in output."""

    ready: tuple[K, ...]  # waiting, in order
    processing: tuple[K, ...]  # in the hands of a worker
    again: tuple[K, ...]  # in the hands of a worker, and to be given out once more


class DedupeQueue(Generic[K]):
    """First come, first served; a key added several times before its turn is served once.

    A key added while a worker has it waits until the worker is done, and is then served again. After
    `shut_down` nothing is taken in; what was taken in before is still given out.
    """

    def __init__(self) -> None:
        self._ready: deque[K] = deque()  # no key twice; none is in _processing; all are in _dirty
        self._dirty: dict[K, None] = {}  # every key that must still be given out
        self._processing: dict[K, None] = {}  # every key given out and not done; a dict for its order
        self._waiters: deque[asyncio.Future[None]] = deque()  # workers; empty or none of them is needed
        self._closed = False  # once set it stays set, and _dirty only shrinks

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def closed(self) -> bool:
        """Whether the queue takes in nothing more."""
        return self._closed

    def add(self, key: K) -> bool:
        """Take in a key; False where it waits already or the queue is shut down."""
        if self._closed or key in self._dirty:
            return False
        self._dirty[key] = None
        if key not in self._processing:
            self._ready.append(key)
            self._wake_one()
        return True

    async def get(self) -> K | None:
        """The next key, now in the caller's hands until `done`; None when shut down and empty."""
        while not self._ready:
            if self._closed:
                return None
            await self._wait()
        key = self._ready.popleft()
        del self._dirty[key]
        self._processing[key] = None
        return key

    def done(self, key: K) -> None:
        """Give a key back; it waits again if it was added meanwhile."""
        del self._processing[key]
        if key in self._dirty:
            self._ready.append(key)
            self._wake_one()

    def shut_down(self) -> None:
        """Take in nothing more and let waiting workers go."""
        self._closed = True
        while self._waiters:
            self._wake_one()

    def state(self) -> DedupeState[K]:
        """What waits, what is worked on."""
        again = tuple(key for key in self._processing if key in self._dirty)
        return DedupeState(tuple(self._ready), tuple(self._processing), again)

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            # The wake-up may have come just before: pass it on, or a key would wait with workers idle.
            if waiter.done() and not waiter.cancelled() and self._ready:
                self._wake_one()
            raise
        finally:
            if not waiter.done() or waiter.cancelled():
                self._drop(waiter)

    def _drop(self, waiter: asyncio.Future[None]) -> None:
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
