"""Answers as bytes: where they end however they are cut, and what is no answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict

from vacate.client.http1 import ChunkedBody, body_of, read_head, request_head
from vacate.errors import ConfigError, TransportError

pytestmark = pytest.mark.unit


@settings(deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.booleans(), st.data())
def test_any_cutting_gives_the_same_body(chunks: list[bytes], trailer: bool, data: st.DataObject) -> None:
    wire = b"".join(b"%x;note=1\r\n%b\r\n" % (len(one), one) for one in chunks)
    wire += b"0\r\n" + (b"Checked: yes\r\n" if trailer else b"") + b"\r\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=12)))
    body, found = ChunkedBody(), b""
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        assert not body.complete or start == len(wire)
        found += body.feed(wire[start:end])
    assert (found, body.complete) == (b"".join(chunks), True)


@pytest.mark.parametrize(
    "wire",
    [b"x\r\n", b"-1\r\n", b"0x5\r\n", b"\r\n", b"5\r\nhello!\r\n", b"1" * 5000,
     b"0\r\n\r\nHTTP/1.1 200 OK\r\n", b"ffffffffffffffff1\r\n"],
)  # fmt: skip
def test_broken_chunks(wire: bytes) -> None:
    with pytest.raises(TransportError, match="the server sent"):
        ChunkedBody().feed(wire)


def test_the_head_of_an_answer() -> None:
    head = read_head(b"HTTP/1.1 200 OK\r\nDate: today\r\nContent-Type: Application/JSON; charset=x\r\n\r\n")
    assert (head.status, head.content_type, head.keeps_connection) == (200, "application/json", True)
    assert head.headers["date"] == "today"
    assert not read_head(b"HTTP/1.1 200\r\nConnection: close\r\n\r\n").keeps_connection
    assert not read_head(b"HTTP/1.0 200 OK\r\n\r\n").keeps_connection


@pytest.mark.parametrize(
    ("head", "match"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/2 200\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "broken header"),
        (b"HTTP/1.1 200 OK\r\n folded: 1\r\n\r\n", "broken header"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n", "broken Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", "broken Content-Length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "unknown way"),
    ],
)
def test_no_answer(head: bytes, match: str) -> None:
    with pytest.raises(TransportError, match=match):
        body_of("GET", read_head(head))


def test_an_answer_ends_where_its_length_says() -> None:
    body = body_of("GET", read_head(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"))
    assert (body.feed(b"ab"), body.complete) == (b"ab", False)
    with pytest.raises(TransportError, match="more than its answer"):
        body.feed(b"cd")
    for method, status in (("HEAD", 200), ("DELETE", 204), ("GET", 304)):
        empty = body_of(method, read_head(b"HTTP/1.1 %d\r\nContent-Length: 9\r\n\r\n" % status))
        assert empty.complete


def test_no_header_begins_another() -> None:
    assert request_head("POST", "/a?b=1", "h:1", CIMultiDict({"A": "é"}), 0) == (
        "POST /a?b=1 HTTP/1.1\r\nHost: h:1\r\nA: é\r\nContent-Length: 0\r\n\r\n".encode()
    )
    for broken in ("x\r\nImpersonate-User: admin", "x\n", "\0"):
        with pytest.raises(ConfigError, match="Authorization"):
            request_head("GET", "/", "h", CIMultiDict({"Authorization": broken}), 0)
