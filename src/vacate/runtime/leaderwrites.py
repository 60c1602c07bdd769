"""A fence: lets reads through always, and writes only while this process leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vacate.client.transport import Transport
from vacate.runtime.leaderelection import LeadershipLost
from vacate.wire.message import Request, Response


class LeaderTransport:
    """Wraps a transport for controllers. A write that begins after the lease was lost is never sent.

    One that is still under way when the lease runs out is aborted: it may be waiting for a connection or
    for credentials, and would otherwise be sent late, as after a process that was stopped goes on.
    """

    def __init__(self, transport: Transport, seconds_left: Callable[[], float]) -> None:
        self._transport = transport
        self._seconds_left = seconds_left  # of leading; none or fewer where this process does not lead

    async def send(self, request: Request) -> Response:
        """Carry a read, or a write of the leader."""
        if request.method == "GET":
            return await self._transport.send(request)
        left = self._seconds_left()
        if left <= 0:
            raise LeadershipLost(f"{request.method} {request.path} was not sent: this process does not lead")
        try:
            async with asyncio.timeout(None) as limit, _Guard(limit, self._seconds_left, left):
                return await self._transport.send(request)
        except TimeoutError:
            raise LeadershipLost(f"{request.method} {request.path} was not sent: the lease is lost") from None

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()


class _Guard:
    """Ends a time limit when the lease runs out, however often it is renewed before."""

    __slots__ = ("_handle", "_limit", "_seconds_left")

    def __init__(self, limit: asyncio.Timeout, seconds_left: Callable[[], float], left: float) -> None:
        self._limit = limit
        self._seconds_left = seconds_left
        self._handle = self._look_in(left)

    def _look_in(self, seconds: float) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        left = self._seconds_left()
        if left > 0:
            self._handle = self._look_in(left)
        else:
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> None:
        """The guard is on from the beginning."""

    async def __aexit__(self, *_: object) -> None:
        self._handle.cancel()
