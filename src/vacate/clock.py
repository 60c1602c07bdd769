"""The only readers of time.

Pure code takes `now` as an argument. Code that reads time takes a `PassiveClock`; code that waits takes a
`Clock`. Both follow the running event loop, so that on a simulated loop all of it is virtual.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from typing import Protocol


class PassiveClock(Protocol):
    """Reads time and never waits."""

    def now(self) -> dt.datetime:
        """The wall clock, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed point; only differences mean anything."""
        ...


class Clock(PassiveClock, Protocol):
    """Reads time and waits for it."""

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds and never before, at once where they are not positive."""
        ...

    async def sleep_until(self, moment: dt.datetime) -> None:
        """Return when the wall clock has reached the moment."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> dt.datetime:
        """The machine's wall clock, in UTC."""
        return dt.datetime.now(dt.UTC)

    def monotonic(self) -> float:
        """The machine's monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the running loop.

        Its timer alone is not enough: one of uvloop may fire a millisecond early, and who then finds that
        a deadline has not passed would not look again.
        """
        end = self.monotonic() + seconds
        await asyncio.sleep(max(seconds, 0.0))
        while (left := end - self.monotonic()) > 0:
            await asyncio.sleep(left)

    async def sleep_until(self, moment: dt.datetime) -> None:
        """Wait until the wall clock shows the moment, also where it is set back meanwhile."""
        while (left := (moment - self.now()).total_seconds()) > 0:
            await asyncio.sleep(left)


class LoopClock:
    """A clock that follows an event loop: real on a real loop, virtual on a simulated one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, epoch: dt.datetime, skew: float = 0.0) -> None:
        self._loop = loop
        self._epoch = epoch
        self._zero = loop.time()
        self._skew = skew

    def now(self) -> dt.datetime:
        """The epoch plus the loop's time since this clock was made, plus the skew."""
        return self._epoch + dt.timedelta(seconds=self._loop.time() - self._zero + self._skew)

    def monotonic(self) -> float:
        """The loop's own time."""
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait in the loop's time."""
        await asyncio.sleep(max(seconds, 0.0))

    async def sleep_until(self, moment: dt.datetime) -> None:
        """Wait until this clock, skew included, shows the moment."""
        while (left := (moment - self.now()).total_seconds()) > 0:
            await asyncio.sleep(left)
