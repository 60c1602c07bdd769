"""How many requests a listener works on at once, and how much of their bodies it holds in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from vacate.errors import TooManyRequests

_RETRY_SECONDS = 1


class InFlight:
    """A limit of requests under way; None is no limit."""

    def __init__(self, requests: int | None = None, body_bytes: int | None = None) -> None:
        self._most_requests = requests
        self._most_bytes = body_bytes
        self.requests = 0
        self.body_bytes = 0

    @contextlib.contextmanager
    def enter(self) -> Iterator[InFlightRequest]:
        """A place for one request until it is answered; TooManyRequests where there is none."""
        if self._most_requests is not None and self.requests >= self._most_requests:
            raise _full(f"{self.requests} requests are under way")
        self.requests += 1
        place = InFlightRequest(self)
        try:
            yield place
        finally:
            self.requests -= 1
            self.body_bytes -= place.body_bytes

    def take(self, size: int) -> None:
        """Reserve so many bytes; TooManyRequests where the limit is reached."""
        if self._most_bytes is not None and self.body_bytes + size > self._most_bytes:
            raise _full("the requests under way fill the memory that there is for them")
        self.body_bytes += size


class InFlightRequest:
    """What one request holds."""

    def __init__(self, room: InFlight) -> None:
        self._room = room
        self.body_bytes = 0

    def take(self, size: int) -> None:
        """Hold so many bytes more, until the request is answered."""
        self._room.take(size)
        self.body_bytes += size


def _full(why: str) -> TooManyRequests:
    return TooManyRequests(f"{why}; try again later", details={"retryAfterSeconds": _RETRY_SECONDS})
