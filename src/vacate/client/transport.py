"""What carries a request to a server and its answer back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from vacate.wire.message import Request, Response


class Transport(Protocol):
    """One way to reach a server. Answers of any status are answers; no answer is a TransportError."""

    async def send(self, request: Request) -> Response:
        """Carry the request and return the answer. A stream in it must be closed by the caller."""
        ...

    async def aclose(self) -> None:
        """Release connections. May be called twice."""
        ...


async def close_iterator(chunks: AsyncIterator[bytes]) -> None:
    """End an iterator now: a generator that is only dropped would be ended by chance, later."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()
