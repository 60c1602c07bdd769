"""Keeps a process from crowding out others: a limit of its own, and the pause that the server requests.

Two things hold a request back. Where a rate is set, requests are sent no faster than that. And when the
server answers 429 because it is busy (priority and fairness, a cache that fills, a server that shuts down),
nobody who shares the transport asks for anything until the time that it named is over. Afterwards requests
begin one by one and become more with each good answer (`slowstart`), in the order in which they came.

A read is then tried again in place: a listing of many pages must not start anew for one page. So is a
question in the form of a write, such as a SubjectAccessReview. A write goes back to the caller with its
error: what was decided before the pause may be wrong after it, and a work queue looks again. Watches are
neither counted nor held by the rate, since they are few and wait by themselves.

Events give way to everything else that the process does: they wait while much is under way, though never for
long, so that under pressure they are few, and afterwards complete as far as their buffer reaches.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vacate.api.integers import parse_integer
from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.errors import ConfigError
from vacate.queue.limits import TokenBucket
from vacate.runtime.slowstart import SlowStart
from vacate.wire.message import Request, Response

if TYPE_CHECKING:
    from vacate.metrics import Metrics  # its library takes a fifth of the start of a command

READS = 5
"""How often a read is sent before the server's refusal is passed on."""

MAX_RETRY_AFTER = 30.0
"""Seconds; a server that asks for more is asked again after so many."""

BUSY_REQUESTS = 4
"""So many requests under way are much: an Event waits until there are fewer."""

MAX_EVENT_DELAY = 1.0
"""Seconds that an Event waits at most."""

_BUDGET = b"DisruptionBudget"  # the cause by which a refused eviction differs from a busy server


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Requests a second over time, and how many may be sent at once after a quiet while."""

    qps: float = 0.0  # none of its own: the server's priority and fairness decides
    burst: int = 0  # twice the rate where it is not set

    def __post_init__(self) -> None:
        if not (math.isfinite(self.qps) and self.qps >= 0 and self.burst >= 0):
            raise ConfigError("--qps and --burst: give numbers that are not negative; 0 means no limit")
        if self.burst and not self.qps:
            raise ConfigError("--burst: has no meaning without --qps; set both, or none")

    def bucket(self) -> TokenBucket | None:
        """What the rate is kept with, where there is one."""
        if not self.qps:
            return None
        return TokenBucket(self.qps, self.burst or max(math.ceil(2 * self.qps), 1))


class RateLimitedTransport:
    """Wraps a transport for everything that a process does but renewing its lease.

    A fence belongs below it, so that a write that waited is checked at the moment when it is sent.
    """

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        pace: RateLimit | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._metrics = metrics
        self._bucket = (pace or RateLimit()).bucket()
        self._quiet_until = -math.inf  # the server asked for nothing before that moment
        self._slow = SlowStart()
        self._line: deque[asyncio.Future[None]] = deque()  # those who wait for a place, in their order
        self._under_way = 0  # requests that were sent and not answered, Events and open watches aside
        self._calm = asyncio.Event()  # set exactly while that is not much
        self._calm.set()

    async def send(self, request: Request) -> Response:
        """Carry the request when its turn has come."""
        if _is_event(request):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(MAX_EVENT_DELAY):
                    await self._calm.wait()
            return await self._persist(request)
        self._count(1)
        try:
            return await self._persist(request)
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        self._under_way += more
        if self._under_way < BUSY_REQUESTS:
            self._calm.set()
        else:
            self._calm.clear()

    async def _persist(self, request: Request) -> Response:
        attempts = READS if _is_read_only(request) else 1
        while True:
            response, pause = await self._attempt(request)
            if pause is None:
                return response
            attempts -= 1
            if self._metrics is not None:
                self._metrics.throttled.labels(request.method).inc()
            if not attempts:
                return response

    async def _attempt(self, request: Request) -> tuple[Response, float | None]:
        """Send it once, when its turn has come; also the pause that the server wants."""
        watch = request.query.get("watch") == "true"
        await self._rate(watch=watch)
        async with contextlib.nullcontext() if watch else self._place():
            await self._pause()
            sent = self._slow.sent()
            response = await self._transport.send(request)
            pause = _requested_pause(response)
            if pause is not None:
                self._slow.refused(sent)
                self._quiet_until = max(self._quiet_until, self._clock.monotonic() + pause)
            elif response.status < 500 and not watch:
                self._slow.answered(sent)
            return response, pause

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()

    async def _rate(self, *, watch: bool) -> None:
        if self._bucket is not None and not watch:
            wait = self._bucket.take(self._clock.monotonic())
            if wait > 0:
                await self._clock.sleep(wait)

    async def _pause(self) -> None:
        while (left := self._quiet_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """One of the places that there are, for the length of the block."""
        if self._line or not self._slow.has_room:
            await self._wait_for_slot()
        else:
            self._slow.take()
        try:
            yield
        finally:
            self._slow.leave()
            self._let_in()

    async def _wait_for_slot(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was let in at the same moment
                self._slow.leave()
                self._let_in()
            raise

    def _let_in(self) -> None:
        """Give free places to the first in the line."""
        while self._line and self._slow.has_room:
            turn = self._line.popleft()
            if not turn.done():  # else whoever waited has gone
                self._slow.take()
                turn.set_result(None)


def _is_read_only(request: Request) -> bool:
    """Whether it changes nothing, so that it may be sent again without a second thought."""
    return request.method == "GET" or request.path.endswith("accessreviews")


def _is_event(request: Request) -> bool:
    """Whether it writes an Event: `…/events` to create one, `…/events/NAME` to count on."""
    place = {"POST": -1, "PATCH": -2}.get(request.method)
    return place is not None and request.path.split("/")[place] == "events"


def _requested_pause(response: Response) -> float | None:
    """How long a busy server wants to be left alone; None for every other answer."""
    if response.status != 429 or not isinstance(response.body, bytes) or _BUDGET in response.body:
        return None
    seconds = parse_integer(response.headers.get("Retry-After", ""))
    return min(float(seconds), MAX_RETRY_AFTER) if seconds and seconds > 0 else None
