"""HTTP/1.1 as bytes: the head of a request, the head of an answer, and where its body ends. No I/O.

What a server sends is checked as far as it matters here: an answer whose end is not clear is an error and
never a guess, since the next answer on the connection would begin in the wrong place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from multidict import CIMultiDict

from vacate.errors import ConfigError, TransportError
from vacate.wire.message import Headers

MAX_HEAD = 64 * 1024
_MAX_CHUNK_LINE = 4096  # a size with extensions, or one trailing header
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")
_LENGTH = re.compile(r"[0-9]{1,18}")
_BROKEN_VALUE = re.compile(r"[\x00\r\n]")


def request_head(method: str, target: str, host: str, headers: Headers, length: int) -> bytes:
    """The bytes before the body."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    for name, value in headers.items():
        if _BROKEN_VALUE.search(name) or _BROKEN_VALUE.search(value):
            raise ConfigError(f"header {name!r}: its value has a line break; a token must be one line")
        lines.append(f"{name}: {value}")
    if length or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """Status and headers of an answer."""

    status: int
    headers: CIMultiDict[str]
    keeps_connection: bool

    @property
    def content_type(self) -> str:
        """Without parameters such as the charset."""
        return self.headers.get("Content-Type", "application/octet-stream").partition(";")[0].strip().lower()


def read_head(data: bytes) -> AnswerHead:
    """The head of an answer, up to and with the empty line."""
    first, *lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
    matched = _STATUS_LINE.fullmatch(first)
    if matched is None:
        raise TransportError(f"the server does not speak HTTP/1.1: it answered {first[:60]!r}")
    headers: CIMultiDict[str] = CIMultiDict()
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or name != name.strip():
            raise TransportError(f"the server sent a broken header: {line[:60]!r}")
        headers.add(name.decode("latin-1"), value.strip(b" \t").decode("utf-8", "surrogateescape"))
    said = headers.get("Connection", "").lower()
    keeps = "close" not in said if matched[1] == b"1" else "keep-alive" in said
    return AnswerHead(int(matched[2]), headers, keeps)


class Body:
    """Takes the bytes after the head and gives those of the body, until it is complete."""

    complete = False
    ends_with_connection = False

    def feed(self, data: bytes) -> bytes:
        """The part of the body in these bytes."""
        raise NotImplementedError

    def expect(self, size: int) -> None:
        """More bytes than the body has belong to nothing that was requested."""
        if size:
            raise TransportError("the server sent more than its answer")


class SizedBody(Body):
    """A body of a known length."""

    def __init__(self, length: int) -> None:
        self._missing = length
        self.complete = length == 0

    def feed(self, data: bytes) -> bytes:
        """The part of the body in these bytes."""
        self.expect(max(0, len(data) - self._missing))
        self._missing -= len(data)
        self.complete = self._missing == 0
        return data


class UnsizedBody(Body):
    """A body that ends with the connection."""

    ends_with_connection = True

    def feed(self, data: bytes) -> bytes:
        """All of it."""
        return data


class ChunkedBody(Body):
    """A body in chunks, each with its size before it and a line break behind it."""

    def __init__(self) -> None:
        self._rest = b""  # of a line that is not complete
        self._missing = 0  # of the chunk
        self._line = self._size  # what the next line is

    def feed(self, data: bytes) -> bytes:
        """The part of the body in these bytes; sizes and line breaks are left out."""
        data, self._rest = self._rest + data, b""
        found: list[bytes] = []
        at = 0
        while at < len(data):
            if self.complete:
                self.expect(len(data) - at)
            if self._missing:
                piece = data[at : at + self._missing]
                found.append(piece)
                self._missing -= len(piece)
                at += len(piece)
                continue
            end = data.find(b"\r\n", at, at + _MAX_CHUNK_LINE)
            if end < 0 and len(data) - at >= _MAX_CHUNK_LINE:
                raise TransportError("the server sent a broken chunk: its size has no end")
            if end < 0:
                self._rest = data[at:]
                break
            self._line(data[at:end])
            at = end + 2
        return b"".join(found)

    def _size(self, line: bytes) -> None:
        matched = _CHUNK_SIZE.fullmatch(line)
        if matched is None:
            raise TransportError(f"the server sent a broken chunk: its size is {line[:40]!r}")
        self._missing = int(matched[1], 16)
        self._line = self._end_of_chunk if self._missing else self._trailer

    def _end_of_chunk(self, line: bytes) -> None:
        if line:
            raise TransportError("the server sent a broken chunk: it is longer than its size")
        self._line = self._size

    def _trailer(self, line: bytes) -> None:
        self.complete = not line


def body_of(method: str, head: AnswerHead) -> Body:
    """How the body of this answer ends."""
    if method == "HEAD" or head.status in (204, 304):
        return SizedBody(0)
    coding = head.headers.getall("Transfer-Encoding", [])
    if coding:
        if [one.strip().lower() for one in coding] != ["chunked"]:
            raise TransportError(f"the server encodes its answer in an unknown way: {', '.join(coding)[:60]}")
        return ChunkedBody()
    lengths = set(head.headers.getall("Content-Length", []))
    if not lengths:
        return UnsizedBody()
    length = lengths.pop()
    if lengths or not _LENGTH.fullmatch(length):
        raise TransportError(f"the server sent a broken Content-Length: {length[:40]!r}")
    return SizedBody(int(length))
