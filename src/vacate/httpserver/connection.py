"""One HTTP connection as seen by aiohttp, with limits, and with a Status object for what is no valid HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from vacate.errors import ApiError, BadRequest, InternalError
from vacate.httpserver.responses import refusal
from vacate.wire.message import Response

MAX_BODY_BYTES = 3 * 1024 * 1024
"""As kube-apiserver: larger bodies are refused with 413."""


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how large things may be. Times that kube-apiserver limits too are limited as it does."""

    handshake_seconds: float = 32.0
    idle_seconds: float = 90.0  # between two requests, the headers of the next one included
    body_seconds: float = 60.0
    stalled_seconds: float = 60.0  # a client that takes nothing of its answer is cut off
    linger_seconds: float = 10.0  # to read what a refused client still sends, so that it sees the refusal
    stop_seconds: float = 2.0
    header_bytes: int = 32 * 1024  # the request line, and each header
    headers: int = 128
    body_bytes: int = MAX_BODY_BYTES
    path_body_bytes: Mapping[str, int] = field(default_factory=dict)  # of these paths, instead
    connections: int | None = None  # more of them are closed at once
    requests: int | None = None  # under way at once; more of them are answered 429
    all_body_bytes: int | None = None  # of the requests under way, together

    def body_bytes_at(self, path: str) -> int:
        """How large a body may be that is sent to this path."""
        return self.path_body_bytes.get(path, self.body_bytes)


class Connection(web.RequestHandler):
    """Cuts off clients that do not read, and answers in JSON where aiohttp would answer in plain text."""

    __slots__ = ("_limits", "_stall")

    def __init__(self, manager: web.Server, limits: Limits, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            manager,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # None turns it off
            keepalive_timeout=limits.idle_seconds,
            lingering_time=limits.linger_seconds,
            max_line_size=limits.header_bytes,
            max_field_size=limits.header_bytes,
            max_headers=limits.headers,
            # As kube-apiserver, which takes a compressed body for what it says it is: no JSON.
            auto_decompress=False,
        )
        self._limits = limits
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A new client, or one too many."""
        super().connection_made(transport)
        most = self._limits.connections
        if most is not None and self._manager is not None and len(self._manager.connections) > most:
            self.force_close()

    def pause_writing(self) -> None:
        """The client reads more slowly than is written: give it a while."""
        super().pause_writing()
        if self.transport is not None:
            self._watch_stall(self.transport)

    def resume_writing(self) -> None:
        """The client has read on."""
        super().resume_writing()
        self._end_stall()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The end, from either side."""
        self._end_stall()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """A request that could not be read, or that failed beyond all that handles failures."""
        if isinstance(exc, ConnectionError):
            raise exc  # the client is gone, and nobody is left to tell
        if not isinstance(exc, HttpProcessingError):
            _log.error("request failed: %s %s", request.method, request.rel_url, exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer had begun")
        answer = whole(refusal(_refusal(exc)))
        answer.force_close()
        return answer

    def _watch_stall(self, transport: asyncio.Transport) -> None:
        """Abort when nothing was taken for a while; a slow client may take as long as it needs."""
        waiting = transport.get_write_buffer_size()

        def check() -> None:
            if transport.get_write_buffer_size() < waiting:
                self._watch_stall(transport)
            else:
                transport.abort()

        self._stall = self._loop.call_later(self._limits.stalled_seconds, check)

    def _end_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None


class Listener(web.Server):
    """Makes a connection for each client."""

    def __init__(self, handler: Any, limits: Limits) -> None:
        # A client that goes away must not leave its request, which may be a watch, behind.
        super().__init__(handler, handler_cancellation=True)
        self._limits = limits

    def __call__(self) -> Connection:
        """The protocol of a new connection."""
        return Connection(self, self._limits, self._loop)


def whole(response: Response) -> web.Response:
    """An answer that is there as a whole."""
    assert isinstance(response.body, bytes)
    headers = {"Content-Type": response.content_type, **response.headers}
    return web.Response(body=response.body, status=response.status, headers=headers)


def _refusal(exc: BaseException | None) -> ApiError:
    if isinstance(exc, LineTooLong):
        return ApiError("the request's headers are too large", code=431)
    if isinstance(exc, HttpProcessingError):
        return BadRequest("the request is not valid HTTP")
    return InternalError("an internal error occurred; the server's log has it")
