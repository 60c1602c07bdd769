"""What is no valid HTTP, or too much of it: a Status as JSON, nothing written, nothing in the log."""

from __future__ import annotations

import gzip
import logging

import orjson
import pytest

from support.hostile.raw import RawAnswer, get, listening, request
from vacate.httpserver.connection import MAX_BODY_BYTES

pytestmark = pytest.mark.process

POST = "POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
NAMESPACE = b'{"metadata":{"name":"new"}}'

BROKEN = {
    "bytes of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "no HTTP": (b"hello\r\n\r\n", 400),
    "HTTP/0.9": (b"GET /version\r\n\r\n", 400),
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "HTTP/3": (b"GET / HTTP/3.0\r\n\r\n", 400),
    "no host": (b"GET /version HTTP/1.1\r\n\r\n", 400),
    "made-up method": (b"FOO /version HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "raw bytes in the path": (b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "raw NUL in a header": (b"GET /version HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n", 400),
    "bad absolute address": (b"GET http://[::1/version HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "long path": (get("/" + "a" * 40_000), 431),
    "long header": (get("/version", "X-Long: " + "a" * 40_000), 431),
    "oversized token": (get("/version", "Authorization: Bearer " + "a" * 40_000), 431),
    "many headers": (get("/version", *(f"X-{n}: a" for n in range(300))), 400),
    "negative length": (f"{POST}Content-Length: -2\r\n\r\n{{}}".encode(), 400),
    "absurd length": (f"{POST}Content-Length: {'9' * 30}\r\n\r\n{{}}".encode(), 400),
    "two lengths": (f"{POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}".encode(), 400),
    "length and chunks": (
        f"{POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode(),
        400,
    ),
    "bad chunk": (f"{POST}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{{}}\r\n0\r\n\r\n".encode(), 400),
    "unknown coding": (f"{POST}Transfer-Encoding: gold\r\nContent-Length: 2\r\n\r\n{{}}".encode(), 400),
    "unknown expectation": (request("POST", "/api/v1/namespaces", "Expect: gold", body=NAMESPACE), 417),
    "TRACE": (request("TRACE", "/api/v1/pods"), 405),
    "OPTIONS": (request("OPTIONS", "/api/v1/pods"), 405),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_request_gets_a_status(name: str, caplog: pytest.LogCaptureFixture) -> None:
    data, code = BROKEN[name]
    caplog.set_level(logging.INFO)
    async with listening() as at:
        before = at.server.store.revision
        heard = await at.say(data)
        assert heard.code == code, heard.raw
        assert heard.status["status"] == "Failure"
        assert at.server.store.revision == before
        assert (await at.say(get("/livez"))).code == 200
    assert not caplog.records


@pytest.mark.parametrize("line", ["CONNECT example.com:80", "OPTIONS *", "GET http://example.com/x"])
async def test_addresses_that_are_no_paths_lead_nowhere(line: str) -> None:
    async with listening() as at:
        heard = await at.say(f"{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert heard.code == 404
        assert heard.raw.endswith(b"404 page not found\n")


async def test_headers_of_twenty_kilobytes_are_fine() -> None:
    async with listening() as at:
        assert (await at.say(get("/version", "X-Long: " + "a" * 20_000))).code == 200


async def test_http_1_0_is_served_and_its_watch_ends_with_the_connection() -> None:
    async with listening() as at:
        assert (await at.say(b"GET /version HTTP/1.0\r\n\r\n")).code == 200
        heard = await at.say(b"GET /api/v1/namespaces?watch=1&timeoutSeconds=1 HTTP/1.0\r\n\r\n")
        assert "transfer-encoding" not in heard.headers
        assert orjson.loads(heard.raw.partition(b"\r\n\r\n")[2])["type"] == "ADDED"


async def test_requests_in_one_go_are_answered_in_order() -> None:
    async with listening() as at:
        keep = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
        heard = await at.say(keep * 50, more=get("/version"))
        assert heard.raw.count(b"HTTP/1.1 200 OK") == 51
        assert b"gitVersion" in heard.raw.rpartition(b"HTTP/1.1 200 OK")[2]


async def test_an_upgrade_is_declined_by_a_plain_answer() -> None:
    async with listening() as at:
        upgrade = (
            "Upgrade: websocket",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13",
        )
        asked = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n" + lines(*upgrade)
        heard = await at.say(asked, more=get("/livez"))
        assert heard.raw.count(b"HTTP/1.1 200 OK") == 2, heard.raw


async def test_a_client_that_expects_100_continue_gets_it() -> None:
    async with listening() as at:
        heard = await at.say(request("POST", "/api/v1/namespaces", "Expect: 100-continue", body=NAMESPACE))
        assert heard.code == 100
        assert RawAnswer(heard.raw.partition(b"\r\n\r\n")[2]).code == 201


async def test_a_client_that_waits_with_too_much_is_refused_before_it_sends() -> None:
    async with listening() as at:
        head = f"{POST}Expect: 100-continue\r\nContent-Length: {MAX_BODY_BYTES + 1}\r\n\r\n"
        heard = await at.say(head.encode())
        assert heard.code == 413


async def test_a_compressed_body_is_taken_for_what_it_is_not() -> None:
    """kube-apiserver does not inflate what it is sent either, so there is nothing to inflate without end."""
    async with listening() as at:
        body = gzip.compress(NAMESPACE)
        heard = await at.say(request("POST", "/api/v1/namespaces", "Content-Encoding: gzip", body=body))
        assert heard.code == 400
        assert heard.status["reason"] == "BadRequest"


@pytest.mark.thorough(beyond=7)
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("size", "code"),
    [(MAX_BODY_BYTES - 1, 201), (MAX_BODY_BYTES, 201), (MAX_BODY_BYTES + 1, 413), (2**22, 413)],
)
async def test_bodies_up_to_three_mebibytes_are_read(size: int, code: int, chunked: bool) -> None:
    """What is this large is refused later for what it holds, unless it is only blanks."""
    body = NAMESPACE + b" " * (size - len(NAMESPACE))
    if chunked:
        data = lines(*POST.strip().split("\r\n"), "Transfer-Encoding: chunked")
        data += b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    else:
        data = request("POST", "/api/v1/namespaces", body=body)
    async with listening() as at:
        before = at.server.store.revision
        heard = await at.say(data)
        assert heard.code == code
        if code == 413:
            assert heard.status["message"] == "Request entity too large: limit is 3145728"
            assert heard.status["reason"] == "RequestEntityTooLarge"
            assert at.server.store.revision == before


def lines(*items: str) -> bytes:
    return "\r\n".join([*items, "", ""]).encode()
