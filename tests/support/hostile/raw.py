"""Bytes to a listening server and back, with nothing that would mend them on the way."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import orjson

from support.embedded import ADMIN, Embedded, embedded
from vacate.api.objects import Obj
from vacate.httpserver.connection import Limits
from vacate.httpserver.listener import HttpListener
from vacate.wire.message import Request, Response

TIMEOUT = 60.0  # for what must happen at once; only a failing test waits that long
PATIENT = Limits(linger_seconds=0.2, stop_seconds=0.2)
"""With nothing that a client in good order could miss on a machine that stands still for a while."""


@dataclass(frozen=True)
class RawAnswer:
    """What a server answered before it closed the connection."""

    raw: bytes

    @property
    def head(self) -> list[str]:
        return self.raw.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")

    @property
    def code(self) -> int:
        return int(self.head[0].split(" ")[1])

    @property
    def headers(self) -> dict[str, str]:
        pairs = [line.partition(":") for line in self.head[1:]]
        return {name.lower(): value.strip() for name, _, value in pairs}

    @property
    def status(self) -> Obj:
        """The Status object of the body."""
        assert self.headers["content-type"] == "application/json", self.raw
        parsed: Obj = orjson.loads(self.raw.partition(b"\r\n\r\n")[2])
        assert parsed["kind"] == "Status"
        assert parsed["code"] == self.code
        return parsed


@dataclass(frozen=True)
class Listening:
    """A server behind an edge in plain text, where everybody is the admin."""

    server: Embedded
    edge: HttpListener

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.edge.port)

    async def say(self, data: bytes, *, more: bytes = b"") -> RawAnswer:
        """Send bytes, and hear everything until the server closes the connection."""
        reader, writer = await self.connect()
        writer.write(data)
        writer.write(more)
        heard = b""
        with suppress(ConnectionError):  # a server that refuses may close before everything is sent
            async with asyncio.timeout(TIMEOUT):
                while chunk := await reader.read(65536):
                    heard += chunk
        writer.close()
        return RawAnswer(heard)

    async def open_watches(self) -> float:
        """What the metric of open watches says, over all resources."""
        text = await self.say(get("/metrics"))
        lines = text.raw.decode().splitlines()
        counts = [line for line in lines if line.startswith("apiserver_registered_watchers{")]
        return sum(float(line.rpartition(" ")[2]) for line in counts)


@asynccontextmanager
async def listening(
    limits: Limits = PATIENT, context: ssl.SSLContext | None = None
) -> AsyncIterator[Listening]:
    async with embedded() as server:

        async def handle(request: Request) -> Response:
            if context is None:
                request.peer = ADMIN
            return await server.server.handle(request)

        edge = HttpListener(handle, context, limits)
        await edge.start("127.0.0.1", 0)
        try:
            yield Listening(server, edge)
        finally:
            await edge.stop()


def get(path: str, *headers: str) -> bytes:
    """A GET on a connection that ends with it."""
    return request("GET", path, *headers)


def request(method: str, path: str, *headers: str, body: bytes | None = None) -> bytes:
    """A well-formed request on a connection that ends with it."""
    length = [] if body is None else [f"Content-Length: {len(body)}"]
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *length, *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + (body or b"")
