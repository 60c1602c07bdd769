"""A fence: lets reads through always, and writes only while this process leads."""

from __future__ import annotations

from collections.abc import Callable

from vacate.client.transport import Transport
from vacate.runtime.leader import LeadershipLost
from vacate.wire.message import Request, Response


class FencedTransport:
    """Wraps a transport for controllers. A write that begins after the lease was lost is never sent."""

    def __init__(self, transport: Transport, leading: Callable[[], bool]) -> None:
        self._transport = transport
        self._leading = leading

    async def send(self, request: Request) -> Response:
        """Carry a read, or a write of the leader."""
        if request.method != "GET" and not self._leading():
            raise LeadershipLost(f"{request.method} {request.path} was not sent: this process does not lead")
        return await self._transport.send(request)

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()
