"""Since when silence counts: while changes arrive, and while the server answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable
from typing import Any, TypeVar

from vacate.api.times import after
from vacate.cache.informer import Informer
from vacate.clock import PassiveClock
from vacate.errors import ApiError, ServiceUnavailable, Timeout, TransportError, UnreadableObject
from vacate.eviction.deadlines import CLOCK_TOLERANCE

T = TypeVar("T")

OUTAGE_THRESHOLD = 10.0
"""A server that does not answer for fewer seconds is in no trouble that interceptors would notice."""

_NO_ANSWER = (TransportError, ServiceUnavailable, Timeout)


class WatchHealth:
    """Notices outages in two ways: the watch breaks, or requests remain without an answer.

    The second matters where a connection is lost unnoticed: the watch then only seems quiet for a while.
    A clock that is set ahead counts as an outage, too.
    """

    def __init__(self, informer: Informer[Any], clock: PassiveClock) -> None:
        self._informer = informer
        self._clock = clock
        # On the monotonic clock: one that is set is no outage, and ends none.
        self._answered_at: float | None = None  # when the server last answered
        self._failing_since: float | None = None  # since when no request was answered
        self._outage_at: float | None = None  # when there was last no answer for so long
        self._lead: float | None = None  # by how many seconds the wall clock was last ahead of it

    def since(self, now: dt.datetime) -> dt.datetime:
        """Since when nothing could have been missed; now, where nothing can be heard."""
        self._notice_jump(now)
        unbroken = self._informer.unbroken_since or now
        if self._outage_at is None:
            return unbroken
        return max(unbroken, after(now, self._outage_at - self._clock.monotonic()))

    def _notice_jump(self, now: dt.datetime) -> None:
        """A clock that was set ahead makes all heartbeats old at once, as an outage does.

        So does a machine that was suspended. Interceptors have as long as after an outage for the next one.
        """
        lead, before = now.timestamp() - self._clock.monotonic(), self._lead
        if before is not None and lead - before > CLOCK_TOLERANCE.total_seconds():
            self._outage_at = self._clock.monotonic()
        self._lead = lead

    async def ask(self, request: Awaitable[T]) -> T:
        """Await a request and note whether the server answers it; a refusal is an answer."""
        began = self._clock.monotonic()
        try:
            result = await request
        except UnreadableObject:
            self._answered()  # the object is at error, not the server
            raise
        except _NO_ANSWER:
            self._unanswered(began)
            raise
        except ApiError:
            self._answered()
            raise
        self._answered()
        return result

    def _answered(self) -> None:
        self._failing_since, self._answered_at = None, self._clock.monotonic()

    def _unanswered(self, began: float) -> None:
        now = self._clock.monotonic()
        if self._failing_since is None:
            self._failing_since = began if self._answered_at is None else max(began, self._answered_at)
        if now - self._failing_since >= OUTAGE_THRESHOLD:
            self._outage_at = now
