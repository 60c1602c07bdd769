"""The health endpoint of an interceptor program, over HTTP, while the API server cannot be reached."""

from __future__ import annotations

import asyncio
import datetime as dt

import aiohttp
import pytest
from hack.kubelab.ports import reserve_port

from support.tiny_server import TinyServer
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import TransportError
from vacate.runtime.dependencies import STALLED_SECONDS
from vacate.sdk import EvictionContext, interceptor
from vacate.sdk.interceptors.program import serve_interceptors
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.process


class AheadClock(SystemClock):
    """The system's clock, set forward by the test."""

    ahead = dt.timedelta()

    def now(self) -> dt.datetime:
        return super().now() + self.ahead


class Link:
    """A way to the server that can be cut."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.cut = False

    async def send(self, request: Request) -> Response:
        if self.cut:
            raise TransportError("the link is cut")
        return await self._inner.send(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


@interceptor("backup.example.com")
async def never(eviction: EvictionContext) -> None:
    """No pod names it."""


async def readyz(port: int) -> tuple[int, str]:
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/readyz") as got:
            return got.status, await got.text()
    except aiohttp.ClientError:
        return 0, ""


async def until_answered(port: int, code: int) -> str:
    async with asyncio.timeout(60):
        got = await readyz(port)
        while got[0] != code:
            await asyncio.sleep(0.05)
            got = await readyz(port)
        return got[1]


async def test_a_program_whose_changes_do_not_arrive_is_not_ready() -> None:
    port = reserve_port()
    server, clock = TinyServer(), AheadClock()
    link = Link(InProcessTransport(server))
    task = asyncio.create_task(serve_interceptors(Client(link), [never], clock=clock, health_port=port))
    try:
        assert await until_answered(port, 200) == "ok"
        link.cut = True
        for stream in list(server.streams):
            stream.end()
        clock.ahead = dt.timedelta(seconds=STALLED_SECONDS + 1)  # since the start: not yet since the cut
        async with asyncio.timeout(60):
            while (await readyz(port))[0] == 200:
                clock.ahead += dt.timedelta(seconds=STALLED_SECONDS)
                await asyncio.sleep(0.05)
        code, text = await readyz(port)
        assert code == 500  # as API servers answer it
        assert "no changes of evictionrequests" in text
        assert "the link is cut" in text
        link.cut = False
        assert await until_answered(port, 200) == "ok"
    finally:
        task.cancel()
        await asyncio.wait([task])
