"""Since when silence counts: while changes arrive, and while the server answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable
from typing import Any, TypeVar

from vacate.cache.informer import Informer
from vacate.clock import PassiveClock
from vacate.errors import ApiError, ServiceUnavailable, Timeout, TransportError, UnreadableObject

T = TypeVar("T")

OUTAGE_THRESHOLD = dt.timedelta(seconds=10)
"""A server that does not answer for a shorter time is in no trouble that interceptors would notice."""

_NO_ANSWER = (TransportError, ServiceUnavailable, Timeout)


class WatchHealth:
    """Notices outages in two ways: the watch breaks, or requests remain without an answer.

    The second matters where a connection is lost without a word: the watch then just seems quiet for a while.
    """

    def __init__(self, informer: Informer[Any], clock: PassiveClock) -> None:
        self._informer = informer
        self._clock = clock
        self._answered_at: dt.datetime | None = None  # when the server last answered
        self._failing_since: dt.datetime | None = None  # since when no request was answered
        self._outage_at: dt.datetime | None = None  # when there was last no answer for longer than a hiccup

    def since(self, now: dt.datetime) -> dt.datetime:
        """Since when nothing could have been missed; now, where nothing can be heard."""
        unbroken = self._informer.unbroken_since or now
        return unbroken if self._outage_at is None else max(unbroken, self._outage_at)

    async def ask(self, request: Awaitable[T]) -> T:
        """Await a request and note whether the server answers it; a refusal is an answer."""
        began = self._clock.now()
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
        self._failing_since, self._answered_at = None, self._clock.now()

    def _unanswered(self, began: dt.datetime) -> None:
        now = self._clock.now()
        if self._failing_since is None:
            self._failing_since = max(began, self._answered_at or began)
        if now - self._failing_since >= OUTAGE_THRESHOLD:
            self._outage_at = now
