"""Calls to services that are slow, talkative, or lead elsewhere, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from vacate.httpclient.addresses import read_networks
from vacate.httpclient.service import MAX_ANSWER_BYTES, Answer, CallFailed, post_json

pytestmark = pytest.mark.process

HERE = read_networks(["127.0.0.1"], "")

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Serve = Callable[[Talk], Awaitable[str]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Answer with raw bytes, on a free port of this machine."""
    servers: list[asyncio.Server] = []

    async def start(talk: Talk) -> str:
        async def each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.readuntil(b"\r\n\r\n")
                await talk(reader, writer)
                await writer.drain()
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        servers.append(await asyncio.start_server(each, "127.0.0.1", 0))
        return f"http://127.0.0.1:{servers[-1].sockets[0].getsockname()[1]}/hook"

    yield start
    for one in servers:
        one.close()


def saying(*parts: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return talk


async def test_an_answer_in_pieces_is_read_to_its_end(serve: Serve) -> None:
    url = await serve(
        saying(b"HTTP/1.1 202 x\r\nRetry-After: 7\r\nContent-Length: 6\r\n\r\n", b"abc", b"def")
    )
    assert await post_json(url, {}, seconds=20, listed=HERE) == Answer(202, b"abcdef", "7")


async def test_a_redirect_is_not_followed(serve: Serve) -> None:
    seen: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append("called")
        writer.write(b"HTTP/1.1 307 x\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")

    assert (await post_json(await serve(talk), {}, seconds=20, listed=HERE)).status == 307
    assert seen == ["called"]


@pytest.mark.parametrize(
    ("talk", "why"),
    [
        (saying(b"HTTP/1.1 200 x\r\n\r\n" + b"x" * (MAX_ANSWER_BYTES + 1)), "longer than 65536 bytes"),
        (saying(b"no HTTP at all\x1b[2J\r\n\r\n"), "the answer is not valid HTTP"),
        (saying(b"HTTP/1.1 200 x\r\nA: " + b"x" * 100_000 + b"\r\n\r\n"), "the answer is not valid HTTP"),
        (saying(b"HTTP/1.1 200 x\r\nContent-Length: 10\r\n\r\nshort"), "the connection was lost"),
        (saying(b""), "the connection was lost"),
    ],
    ids=["huge", "nonsense", "huge header", "cut off", "nothing"],
)
async def test_what_is_no_answer(serve: Serve, talk: Talk, why: str) -> None:
    with pytest.raises(CallFailed, match=why) as caught:
        await post_json(await serve(talk), {}, seconds=20, listed=HERE)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 200


async def test_an_answer_that_unpacks_to_more_is_left_packed(serve: Serve) -> None:
    packed = gzip.compress(b"x" * 10_000_000)
    head = f"HTTP/1.1 200 x\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    answer = await post_json(await serve(saying(head, packed)), {}, seconds=20, listed=HERE)
    assert answer.body == packed


async def test_a_service_that_drips_is_given_up(serve: Serve) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 x\r\n\r\n")
        await reader.read()  # until the other side has had enough

    with pytest.raises(CallFailed, match=r"no answer within 0\.2 s"):
        await post_json(await serve(talk), {}, seconds=0.2, listed=HERE)


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0177.0.0.1", "127.1"]
)
async def test_neither_a_name_nor_a_number_leads_to_this_machine(serve: Serve, host: str) -> None:
    called: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.append(host)
        writer.write(b"HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n")

    url = (await serve(talk)).replace("127.0.0.1", host)
    with pytest.raises(CallFailed, match=r"is not one of another machine|is not a canonical IPv4 address"):
        await post_json(url, {}, seconds=20)
    assert called == []
    if host in ("127.0.0.1", "[::ffff:127.0.0.1]", "0x7f.1"):
        assert (await post_json(url, {}, seconds=20, listed=HERE)).status == 200


async def test_no_tls_where_https_is_asked_for_is_no_answer(serve: Serve) -> None:
    url = (await serve(saying(b"HTTP/1.1 200 x\r\n\r\n"))).replace("http://", "https://")
    with pytest.raises(CallFailed):
        await post_json(url, {}, seconds=1, listed=HERE)
    with pytest.raises(CallFailed, match="TLS failed"):
        await post_json(url, {}, seconds=20, listed=HERE, authorities="no certificate")
