"""Clients that dawdle, never read, or vanish: each is cut off or released, and the others notice nothing."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import struct
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from support.embedded import Embedded
from support.hostile.raw import PATIENT, TIMEOUT, Listening, RawAnswer, get, listening
from vacate.api.kinds import CONFIGMAPS
from vacate.httpserver.connection import Limits

pytestmark = pytest.mark.process

IDLE = Limits(idle_seconds=0.3, stop_seconds=0.2)
BODY = Limits(body_seconds=0.2, linger_seconds=0.2, stop_seconds=0.2)
WATCH = b"GET /api/v1/namespaces/d/configmaps?watch=1&resourceVersion=%d HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.INFO)
    yield
    assert not caplog.records


@pytest.mark.parametrize(
    "sent", [b"", b"GET /version HTTP/1.1\r\nHo", b"GET /version HTTP/1.1\r\nHost: x\r\nA: "]
)
async def test_headers_that_do_not_end_are_not_waited_for(sent: bytes) -> None:
    async with listening(IDLE) as at:
        assert (await at.say(sent)).raw == b""  # as kube-apiserver: closed without a word


async def test_dribbling_headers_do_not_buy_time() -> None:
    async with listening(IDLE) as at:
        reader, writer = await at.connect()
        began = asyncio.get_running_loop().time()
        ended = asyncio.ensure_future(reader.read())
        while not ended.done() and asyncio.get_running_loop().time() < began + TIMEOUT:
            writer.write(b"G")
            await asyncio.wait([ended], timeout=0.02)
        assert ended.done()
        writer.close()


@pytest.mark.parametrize(
    "sent", ["Content-Length: 100\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}"]
)
async def test_a_body_that_never_ends_is_a_timeout(sent: str) -> None:
    async with listening(BODY) as at:
        before = at.server.store.revision
        heard = await at.say(f"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\n{sent}".encode())
        assert heard.code == 504
        assert heard.status["message"] == "Timeout: request did not complete within the allotted timeout"
        assert at.server.store.revision == before


async def test_a_watcher_that_never_reads_is_cut_off_and_others_see_everything() -> None:
    async with listening(Limits(stalled_seconds=0.3, stop_seconds=0.2)) as at:
        deaf = await watching(at, receive_buffer=4096)
        listener, writer = await attentive(at)
        for n in range(60):
            await config(at.server, n, 100_000)
        seen = 0
        async with asyncio.timeout(TIMEOUT):
            while seen < 60:
                seen += (await listener.readuntil(b"}\n")).count(b'"type":"ADDED"')
        await until_open(at, 1)
        deaf.close()
        writer.close()


@pytest.mark.thorough
async def test_watchers_that_never_read_hold_little_memory() -> None:
    """They share the encoded events, and what each may hold beside is bounded by its buffers."""
    async with listening(PATIENT) as at:
        deaf = [await watching(at, receive_buffer=4096) for _ in range(20)]
        await until_open(at, 20)
        with traced() as memory:
            for n in range(100):
                await config(at.server, n, 50_000)
            held = memory()
        # 5 MB of objects and 5 MB of events, both shared, and a buffer for each; not 20 times 5 MB.
        assert held < 15_000_000, held
        for connection in deaf:
            connection.close()
        await until_open(at, 0)


async def test_a_list_that_nobody_reads_is_given_up() -> None:
    async with listening(Limits(stalled_seconds=0.2, stop_seconds=0.2)) as at:
        for n in range(60):
            await config(at.server, n, 200_000)
        connection = await connected(at, 4096)
        await send(connection, get("/api/v1/namespaces/d/configmaps"))
        await eventually("cut off", lambda: none_but_this(at))
        connection.close()


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_watchers_that_go_are_released_at_once(reset: bool) -> None:
    async with listening(PATIENT) as at:
        connections = [await watching(at) for _ in range(10)]
        await until_open(at, 10)
        for connection in connections:
            vanish(connection) if reset else connection.close()
        await until_open(at, 0)
        assert at.server.store.watchers == 0


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
        b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"GET /version HT",
        get("/api/v1/namespaces/d/configmaps"),
    ],
)
async def test_resets_in_the_middle_of_things_leave_nothing(sent: bytes) -> None:
    async with listening(PATIENT) as at:
        for n in range(20):
            await config(at.server, n, 100_000)
        before = at.server.store.revision
        for _ in range(10):
            connection = await connected(at)
            await send(connection, sent)
            vanish(connection)
        await eventually("all are gone", lambda: none_but_this(at))
        assert at.server.store.revision == before
        assert (await at.say(get("/livez"))).code == 200


@pytest.mark.thorough
async def test_five_hundred_idle_connections_do_not_matter() -> None:
    allow_many_files()
    async with listening(PATIENT) as at:
        idle = [await connected(at) for _ in range(500)]
        assert (await at.say(get("/livez"))).code == 200
        assert at.edge.connections >= 500
        for connection in idle:
            connection.close()
        await eventually("all are gone", lambda: none_but_this(at))


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Gives the bytes that were allocated since, and are still held."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def allow_many_files() -> None:
    """Both ends of each connection are files of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))


async def config(server: Embedded, number: int, size: int) -> None:
    meta = {"name": f"c{number}", "namespace": "d", "uid": f"u{number}"}
    await server.seed(CONFIGMAPS, {"metadata": meta, "data": {"a": "x" * size}})


async def connected(at: Listening, receive_buffer: int = 0) -> socket.socket:
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.setblocking(False)
    await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", at.edge.port))
    return connection


async def send(connection: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(connection, data)


async def watching(at: Listening, receive_buffer: int = 0) -> socket.socket:
    """A connection with a watch on it that nobody reads."""
    connection = await connected(at, receive_buffer)
    await send(connection, WATCH % at.server.store.revision)
    return connection


async def attentive(at: Listening) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A watch that somebody reads, with its headers read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", at.edge.port, limit=2**24)
    writer.write(WATCH % at.server.store.revision)
    heard = RawAnswer(await reader.readuntil(b"\r\n\r\n"))
    assert heard.code == 200
    return reader, writer


def vanish(connection: socket.socket) -> None:
    """Close with a reset, as a client does that dies."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


async def none_but_this(at: Listening) -> bool:
    return not at.edge.connections


async def until_open(at: Listening, count: int) -> None:
    async def reached() -> bool:
        return await at.open_watches() == count

    await eventually(f"{count} open watches", reached)


async def eventually(what: str, condition: Callable[[], Awaitable[bool]]) -> None:
    try:
        async with asyncio.timeout(TIMEOUT):
            while not await condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"never: {what}") from None
