"""Heartbeats, for as long as they mean progress."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
from collections.abc import Callable

from vacate.clock import PassiveClock
from vacate.entropy import Entropy
from vacate.errors import ApiError, TransportError
from vacate.sdk.errors import ContractError, TurnLost
from vacate.sdk.interceptors.statuswriter import StatusWriter

log = logging.getLogger(__name__)

ERROR_RETRY_SECONDS = 10.0
_EARLIEST = 0.8


class HeartbeatLoop:
    """Writes a heartbeat whenever one is due, unless the handler shows no progress within its own limit."""

    def __init__(
        self,
        status_writer: StatusWriter,
        clock: PassiveClock,
        entropy: Entropy,
        *,
        progress_within: dt.timedelta | None = None,
        on_stall: Callable[[], None],
    ) -> None:
        self._status_writer = status_writer
        self._clock = clock
        self._entropy = entropy
        self._progress_limit = progress_within.total_seconds() if progress_within else None
        self._on_stall = on_stall
        self._progress_at = clock.monotonic()
        self._stirred = asyncio.Event()  # set when the loop below should look again

    @property
    def stalled(self) -> bool:
        """Whether the last progress is longer ago than the handler's own limit."""
        return self._stall_in() <= 0

    def progress(self, expected_in: float = 0.0) -> None:
        """The handler has got further, or has reported that it will be busy for so many seconds."""
        now = self._clock.monotonic()
        busy = expected_in - self._progress_limit if self._progress_limit is not None else 0.0
        self._progress_at = now + max(busy, 0.0)
        self._stirred.set()

    async def run(self) -> None:
        """Beat until cancelled or until the turn is over."""
        while self._status_writer.ended is None:
            self._stirred.clear()
            if self._status_writer.silent:
                await self._stirred.wait()
            elif self.stalled:
                self._on_stall()
                await self._stirred.wait()
            elif (seconds := self._status_writer.due_in()) > 0:
                await self._wait(min(seconds, self._stall_in()))
            else:
                await self._beat()

    async def _beat(self) -> None:
        try:
            await self._status_writer.beat()
        except TurnLost:
            return
        except (ApiError, ContractError, TransportError) as error:
            seconds = ERROR_RETRY_SECONDS * self._entropy.uniform(_EARLIEST, 1.0)
            log.warning("heartbeat not written, again in %.0f s: %s", seconds, error)
            self._status_writer.postpone(seconds)

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stirred.wait()

    def _stall_in(self) -> float:
        if self._progress_limit is None:
            return float("inf")
        return self._progress_at + self._progress_limit - self._clock.monotonic()
