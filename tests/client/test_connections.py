"""Kept connections, against a server that answers with prepared bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from vacate.api.kinds import CONFIGMAPS, PODS
from vacate.client import requests
from vacate.client.client import Client
from vacate.client.config import ClusterConfig
from vacate.client.connections import Connections, Place
from vacate.client.http import HttpTransport, Limits
from vacate.clock import SystemClock
from vacate.errors import TransportError

pytestmark = pytest.mark.process

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
SILENCE = b"silence"
LAST = ANSWER.replace(b"200 OK", b"200 OK\r\nConnection: close")


class Server:
    """Answers the requests of its n-th connection with the n-th list; then it closes that connection."""

    def __init__(self, *answers: list[bytes]) -> None:
        self.answers = list(answers)
        self.seen: list[str] = []  # number of the connection, and the first line of the request
        self.open: set[asyncio.Task[None]] = set()
        self.first = asyncio.Event()  # a request has come
        self._count = 0

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self._count = self._count, self._count + 1
        try:
            for answer in self.answers.pop(0):
                head = await reader.readuntil(b"\r\n\r\n")
                first = head.split(b"\r\n")[0].decode()
                self.seen.append(f"{number} {first.rpartition(' ')[0]}")
                self.first.set()
                if b"Content-Length: " in head:
                    await reader.readexactly(int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]))
                if answer is SILENCE:
                    await reader.read()  # until the client closes
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has closed it
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def client_of(server: Server, limits: Limits | None = None) -> AsyncIterator[Client]:
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    client = Client(HttpTransport(ClusterConfig(f"http://127.0.0.1:{port}/prefix/"), SystemClock(), limits))
    try:
        yield client
    finally:
        await client.aclose()
        listening.close()
        await asyncio.gather(*server.open)


GET = "GET /prefix/api/v1/namespaces/b/pods/a"


async def test_a_connection_is_used_again() -> None:
    server = Server([b"HTTP/1.1 100 Continue\r\n\r\n" + ANSWER, ANSWER, LAST], [ANSWER])
    async with client_of(server) as client:
        for _ in range(4):
            await client.get(PODS, "a", "b")
    assert server.seen == [f"0 {GET}"] * 3 + [f"1 {GET}"]


async def test_a_connection_that_closes_as_it_is_used_again() -> None:
    """A read is repeated. A write may have been done already, so its sender must decide."""
    server = Server([ANSWER, b""], [ANSWER, b""])
    async with client_of(server) as client:
        await client.get(PODS, "a", "b")
        await client.get(PODS, "a", "b")
        with pytest.raises(TransportError, match="no answer: the server closed the connection"):
            await client.send(requests.create(CONFIGMAPS, {"metadata": {"name": "a", "namespace": "b"}}))
    assert server.seen == [
        f"0 {GET}", f"0 {GET}", f"1 {GET}", "1 POST /prefix/api/v1/namespaces/b/configmaps",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 200", "in the middle of the answer"),
        (ANSWER[:-1], "in the middle of the answer"),
        (b"\x15\x03\x01\x00\x02\x02\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 300_000, "too long"),
        (ANSWER + b"HTTP/1.1 200 OK\r\n", "more than its answer"),
    ],
)
async def test_what_is_no_answer_ends_the_connection(answer: bytes, match: str) -> None:
    server = Server([answer], [ANSWER])
    async with client_of(server) as client:
        with pytest.raises(TransportError, match=match):
            await client.get(PODS, "a", "b")
        assert await client.get(PODS, "a", "b") == {}
    assert server.seen == [f"0 {GET}", f"1 {GET}"]


async def test_what_nobody_requested_answers_nothing() -> None:
    """An answer that comes on an idle connection is not taken for that of the next request."""

    def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ANSWER)
        writer.close()

    listening = await asyncio.start_server(speak, "127.0.0.1", 0)
    place = Place("127.0.0.1", listening.sockets[0].getsockname()[1], None)
    connections = Connections(limit=2, connect_seconds=10.0)
    first = await connections.borrow(place)
    connections.give_back(first)
    async with asyncio.timeout(30):
        while first.usable:  # noqa: ASYNC110  the server has yet to speak
            await asyncio.sleep(0.001)
    assert await connections.borrow(place) is not first
    await connections.aclose()
    listening.close()


async def test_a_cancelled_request_gives_its_place_to_the_next() -> None:
    """With one connection allowed: what is cancelled while it waits for its answer leaves nothing behind."""
    server = Server([SILENCE], [ANSWER])
    async with client_of(server, Limits(connections=1)) as client:
        first = asyncio.create_task(client.get(PODS, "a", "b"))
        await server.first.wait()
        second = asyncio.create_task(client.get(PODS, "a", "b"))
        first.cancel()
        assert await second == {}
        with pytest.raises(asyncio.CancelledError):
            await first
