"""Writes notes as Event objects, in the background and with a bounded buffer."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
from collections import deque

from vacate.api.events import EventNote
from vacate.api.kinds import EVENTS
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import TRANSIENT_ERRORS, AlreadyExists, ApiError, NotFound
from vacate.runtime.eventcorrelator import CorrelatedEvent, Correlator
from vacate.runtime.leaderelection import LeadershipLost

log = logging.getLogger(__name__)

BUFFER = 1000
ATTEMPTS = 12
FIRST_PAUSE = 1.0
MAX_PAUSE = 10.0
SHUTDOWN_FLUSH_SECONDS = 2.0
"""Seconds that a stop waits for notes to be written."""


class EventRecorder:
    """A recorder whose `run` must be under way for anything to be written. At rest it just waits."""

    name = "event recorder"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        entropy: Entropy,
        *,
        component: str,
        host: str = "",
        buffer: int = BUFFER,
    ) -> None:
        """Notes beyond the buffer are dropped: with a buffer of 0 nothing is written."""
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._buffer = buffer
        self._correlator = Correlator(component, host, entropy)
        # Not yet written, oldest first, at most the buffer; each with what both clocks showed.
        self._notes: deque[tuple[EventNote, dt.datetime, float]] = deque()
        self._more = asyncio.Event()  # set exactly while there are notes
        self._settled = asyncio.Event()  # set while nothing is to be written, or nobody is there to take it
        self._settled.set()
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """How many notes were lost: buffer full, object too chatty, or the server would not have them."""
        return self._dropped

    @property
    def pending(self) -> int:
        """How many notes wait."""
        return len(self._notes)

    def record(self, note: EventNote) -> None:
        """Write the note down soon, or drop it under pressure."""
        if len(self._notes) >= self._buffer:
            self._dropped += 1
            return
        self._notes.append((note, self._clock.now(), self._clock.monotonic()))
        self._more.set()
        self._settled.clear()

    async def run(self) -> None:
        """Write until cancelled."""
        try:
            while True:
                await self._more.wait()
                await self.flush()
        finally:
            self._settled.set()

    async def settle(self) -> None:
        """Return when `run` has written all that waits; soon, also where the server is slow or away."""
        try:
            async with asyncio.timeout(SHUTDOWN_FLUSH_SECONDS):
                await self._settled.wait()
        except TimeoutError:
            log.warning("events that were not written in time: %d and one under way", self.pending)

    async def flush(self) -> None:
        """Write all that waits."""
        while self._notes:
            written = self._correlator.observe(*self._notes.popleft())
            if written is None or not await self._write(written):
                self._dropped += 1
        self._more.clear()
        self._settled.set()

    async def _write(self, event: CorrelatedEvent) -> bool:
        """Try until it works or cannot work; False for a note that is lost."""
        for attempt in range(ATTEMPTS):
            try:
                await self._send(event)
            except TRANSIENT_ERRORS as error:
                log.debug("event %s: %s", event.name, error)
                self._settled.set()
                await self._clock.sleep(self._pause(attempt))
                self._settled.clear()
            except LeadershipLost:  # what is left of a stop that could not wait for it
                return False
            except ApiError as error:
                # A terminating namespace takes no Events, and that is no reason for a warning.
                level = logging.INFO if error.has_cause("NamespaceTerminating") else logging.WARNING
                log.log(level, "event %s was refused: %s", event.name, error)
                return False
            else:
                event.repeat = True
                return True
        return False

    async def _send(self, event: CorrelatedEvent) -> None:
        if event.repeat:
            try:
                await self._client.patch(EVENTS, event.name, event.change(), event.namespace)
            except NotFound:  # events are kept for a while only
                event.repeat = False
            else:
                return
        with contextlib.suppress(AlreadyExists):  # an earlier attempt came through without an answer
            await self._client.create(EVENTS, event.body, event.namespace)

    def _pause(self, attempt: int) -> float:
        longest = min(FIRST_PAUSE * 2.0**attempt, MAX_PAUSE)
        return self._entropy.uniform(longest / 2, longest)
