"""A process that dies at a chosen request: before it is sent, or after it was carried out.

wire = CrashPoint(at=7, after=True)
transport = wire.around(transport)       # count the requests of a process
await wire.tripped.wait()                # from now on the process says and hears nothing more
"""

from __future__ import annotations

import asyncio

from vacate.client.transport import Transport
from vacate.wire.message import Request, Response


class CrashPoint:
    """Counts the requests of one process over all of its lives, and stops it at one of them."""

    def __init__(self, at: int | None = None, *, after: bool = False) -> None:
        self.count = 0
        self.tripped = asyncio.Event()
        self._at = at
        self._after = after

    def around(self, transport: Transport) -> Transport:
        """The transport of one life of the process."""
        return _Tripping(self, transport)

    async def pass_over(self, transport: Transport, request: Request) -> Response:
        """Carry one request, unless it is the one."""
        self.count += 1
        if self.count != self._at:
            return await transport.send(request)
        try:
            if self._after:
                await _carry_out(transport, request)
        finally:
            self.tripped.set()  # also where nobody waited for the answer any more
        return await _nothing_more()


class _Tripping:
    """One life. After the wire was tripped in it, nothing of it reaches anybody."""

    def __init__(self, wire: CrashPoint, transport: Transport) -> None:
        self._wire = wire
        self._transport = transport
        self._second_life = wire.tripped.is_set()

    async def send(self, request: Request) -> Response:
        if self._wire.tripped.is_set() and not self._second_life:
            return await _nothing_more()
        return await self._wire.pass_over(self._transport, request)

    async def aclose(self) -> None:
        await self._transport.aclose()


async def _carry_out(transport: Transport, request: Request) -> None:
    response = await transport.send(request)
    if not isinstance(response.body, bytes):
        await response.body.aclose()


async def _nothing_more() -> Response:
    await asyncio.Event().wait()
    raise AssertionError("the event is never set")
