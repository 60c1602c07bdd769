"""The API server's clock, as far as its answers show it.

Deadlines are checked by several programs on several machines, and by the server. A program that writes times
into objects writes the server's, so that a machine whose clock is wrong neither refuses anyone nor is
refused.
"""

from __future__ import annotations

import datetime as dt
import logging
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.wire.message import Request, Response

if TYPE_CHECKING:
    from vacate.metrics import Metrics  # its library takes a fifth of the start of a command

NOTABLE_OFFSET = dt.timedelta(seconds=5)
"""The offset from which on it is logged for the administrator."""

_SECOND = dt.timedelta(seconds=1)
_NONE = dt.timedelta(0)
_AT_ONCE = 0.1

log = logging.getLogger(__name__)


class ServerClock:
    """A clock that is corrected by the `Date` of answers. Waiting and `monotonic` are the machine's own.

    A date has whole seconds and an answer takes a while, so each answer gives a range for the offset. Ranges
    are narrowed down by one another; one that contradicts the others, after the server's clock was set,
    replaces them. Where no offset at all is within the range, nothing is corrected.

    That the machine's clock was set shows at once, by the monotonic one: what is done before the next answer,
    and how long is waited for a moment, goes by the server's clock as it was known.
    """

    def __init__(self, clock: Clock, metrics: Metrics | None = None) -> None:
        self.machine = clock
        self.offset = _NONE  # what is added to the machine's clock
        self._metrics = metrics
        self._range: tuple[dt.timedelta, dt.timedelta] | None = None
        self._noted = False  # whether it was logged that the offset is notable
        self._started = self._read()[1]

    def now(self) -> dt.datetime:
        """The time by the server's clock, in UTC."""
        now, started = self._read()
        if abs(started - self._started) > _SECOND and self._range is not None:
            low, high = (one + self._started - started for one in self._range)
            self._set_range(low, high)
        self._started = started
        return now + self.offset

    def _read(self) -> tuple[dt.datetime, dt.datetime]:
        """The machine's time, and when its monotonic clock began: that changes when the time is set only."""
        while True:
            before, now = self.machine.monotonic(), self.machine.now()
            if self.machine.monotonic() - before < _AT_ONCE:  # the process was not halted in between
                return now, now - dt.timedelta(seconds=before)

    def monotonic(self) -> float:
        """The machine's monotonic clock."""
        return self.machine.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        await self.machine.sleep(seconds)

    async def sleep_until(self, moment: dt.datetime) -> None:
        """Wait until the server's clock shows the moment, also where the correction changes meanwhile."""
        while (left := (moment - self.now()).total_seconds()) > 0:
            await self.machine.sleep(left)

    def observe(self, date: dt.datetime, sent: dt.datetime, received: dt.datetime) -> None:
        """An answer of that date, with the machine's times at which its request was sent and it came."""
        self.now()
        low, high = date - received, date + _SECOND - sent
        if self._range is not None:
            within = max(low, self._range[0]), min(high, self._range[1])
            low, high = within if within[0] <= within[1] else (low, high)
        self._set_range(low, high)
        self._note()

    def _set_range(self, low: dt.timedelta, high: dt.timedelta) -> None:
        self._range = low, high
        self.offset = _NONE if low <= _NONE <= high else (low + high) / 2
        if self._metrics is not None:
            self._metrics.clock_offset.set(self.offset.total_seconds())

    def _note(self) -> None:
        was_noted, self._noted = self._noted, abs(self.offset) > NOTABLE_OFFSET
        if self._noted and not was_noted:
            log.warning(
                "the clock of this machine is %.1f s %s the API server's; times are corrected by that, but "
                "check the time synchronisation of both machines",
                abs(self.offset.total_seconds()),
                "behind" if self.offset > _NONE else "ahead of",
            )


class DatedTransport:
    """Wraps a transport and gives a server clock the date of each answer."""

    def __init__(self, transport: Transport, clock: ServerClock) -> None:
        self._transport = transport
        self._clock = clock

    async def send(self, request: Request) -> Response:
        """Carry the request, and look at the date of the answer."""
        machine = self._clock.machine
        sent = machine.monotonic()
        response = await self._transport.send(request)
        date = _date_of(response.headers.get("Date", ""))
        if date is not None:
            received = machine.now()  # the clock may have been set while the answer was on its way
            took = dt.timedelta(seconds=machine.monotonic() - sent)
            self._clock.observe(date, received - took, received)
        return response

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()


def _date_of(text: str) -> dt.datetime | None:
    """The date of a header; None where there is none, or none that can be read."""
    try:
        found = parsedate_to_datetime(text) if text else None
    except (ValueError, TypeError, OverflowError):
        return None
    return found if found is not None and found.tzinfo is not None else None
