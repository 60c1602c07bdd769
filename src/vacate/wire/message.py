"""One request and one response, the same for every transport.

A body is always bytes, also in one process: so framing, limits and encodings are never skipped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from multidict import CIMultiDict, CIMultiDictProxy, MultiDict, MultiDictProxy

Headers = CIMultiDict[str] | CIMultiDictProxy[str]
Query = MultiDict[str] | MultiDictProxy[str]


@dataclass(frozen=True, slots=True)
class Peer:
    """Who the transport vouches for: the subject of a verified client certificate."""

    name: str
    groups: tuple[str, ...] = ()
    credential_id: str = ""  # which certificate it was: `X509SHA256=` and its digest


@dataclass(slots=True)
class Request:
    """A request as it reaches the server: no decoding has happened yet except of the URL's escapes."""

    method: str
    path: str
    query: Query = field(default_factory=MultiDict[str])
    headers: Headers = field(default_factory=CIMultiDict[str])
    body: bytes = b""
    peer: Peer | None = None


class Stream(Protocol):
    """A body that has no end yet. A reader that stops must close it."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Chunks as they come; a chunk may hold several frames and always ends with a whole one."""
        ...

    async def aclose(self) -> None:
        """Release what feeds the stream. May be called twice."""
        ...


@dataclass(slots=True)
class Response:
    """An answer: bytes, or a stream for a watch."""

    status: int
    body: bytes | Stream = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
