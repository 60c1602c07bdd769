"""The transport over HTTPS: HTTP/1.1 on asyncio's own streams.

The commands start in half the time without a library for HTTP: what it has beyond this (cookies, redirects,
proxies, compression, WebSockets, its own list of authorities) took longer to load than everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from multidict import CIMultiDict

from vacate.client.config import ClusterConfig
from vacate.client.connections import Connection, Connections, Place
from vacate.client.credentials import Credentials, source_of
from vacate.client.http1 import AnswerHead, Body, body_of, request_head
from vacate.client.tls import client_context
from vacate.clock import PassiveClock
from vacate.errors import ConfigError, TransportError
from vacate.wire.message import Request, Response


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections, and how much patience in seconds."""

    connections: int = 256  # each open watch holds one
    connect_seconds: float = 10.0
    answer_seconds: float = 65.0  # API servers give up after 60
    # Servers send a bookmark about every minute: a watch without a byte for longer is half open.
    silence_seconds: float = 180.0


_REPEATABLE = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")  # sent twice they do what they do once


class HttpTransport:
    """Requests to one API server over kept-alive connections."""

    def __init__(self, config: ClusterConfig, clock: PassiveClock, limits: Limits | None = None) -> None:
        self._config = config
        self._limits = limits or Limits()
        self._credentials = source_of(config, clock)
        self._shown: Credentials | None = None  # whose certificate connections are made with
        self._place: Place | None = None
        self._connections = Connections(self._limits.connections, self._limits.connect_seconds)
        self._server = urlsplit(config.server)

    async def send(self, request: Request) -> Response:
        """Send, and read the whole answer, or for an accepted watch its beginning."""
        credentials = await self._current_credentials()
        place = self._place_for(credentials)
        watching = any(request.query.get(key) in ("true", "1") for key in ("watch", "follow"))
        head = request_head(
            request.method,
            self._target(request),
            self._server.netloc.rpartition("@")[2],
            self._headers(request, credentials),
            len(request.body),
        )
        try:
            async with asyncio.timeout(None if watching else self._limits.answer_seconds):
                answer = await self._answer(request, head + request.body, place, watching=watching)
        except (TransportError, TimeoutError, OSError) as error:
            raise _no_answer(request, self._config.server, error) from error
        if answer.status == 401:
            self._credentials.rejected()
        return answer

    async def aclose(self) -> None:
        """Close all connections."""
        await self._connections.aclose()

    async def _answer(self, request: Request, data: bytes, place: Place, *, watching: bool) -> Response:
        connection = await self._connections.borrow(place)
        try:
            try:
                head = await self._head(connection, data)
            except ConnectionError:
                # The server may close a kept connection in the moment in which it is used again.
                if not connection.used or request.method not in _REPEATABLE:
                    raise
                self._connections.drop(connection)
                connection = await self._connections.borrow(place, new=True)
                head = await self._head(connection, data)
            body = body_of(request.method, head)
            if watching and head.status == 200:
                stream = HttpStream(self._connections, connection, body, self._limits.silence_seconds)
                return Response(200, stream, head.content_type, head.headers)
            pieces = []
            while piece := await connection.piece(body):
                pieces.append(piece)
        except BaseException:
            self._connections.drop(connection)
            raise
        if head.keeps_connection and body.complete:
            self._connections.give_back(connection)
        else:
            self._connections.drop(connection)
        return Response(head.status, b"".join(pieces), head.content_type, head.headers)

    async def _head(self, connection: Connection, data: bytes) -> AnswerHead:
        """The head of the answer to a request. For a watch there is no other limit to the wait for it."""
        connection.write(data)
        async with asyncio.timeout(self._limits.silence_seconds):
            return await connection.head()

    async def _current_credentials(self) -> Credentials:
        """Wrong from the start is for a person to mend; after a success it is trouble that may pass."""
        try:
            return await self._credentials.current()
        except ConfigError as error:
            if self._place is None:
                raise
            raise TransportError(f"no credentials: {error}") from error

    def _target(self, request: Request) -> str:
        path = self._server.path.rstrip("/") + quote(request.path, safe="/:@-._~!$&'()*,;=")
        return f"{path}?{urlencode(list(request.query.items()), quote_via=quote)}" if request.query else path

    def _headers(self, request: Request, credentials: Credentials) -> CIMultiDict[str]:
        headers = CIMultiDict(request.headers)
        headers.setdefault("Accept", "*/*")
        # Compressing costs more than it saves on the short way to an API server.
        headers["Accept-Encoding"] = "identity"
        if credentials.token:
            headers["Authorization"] = f"Bearer {credentials.token}"
        if self._config.impersonate:
            headers["Impersonate-User"] = self._config.impersonate
            for group in self._config.impersonate_groups:
                headers.add("Impersonate-Group", group)
        return headers

    def _place_for(self, credentials: Credentials) -> Place:
        """Where to connect to, made anew when the client's certificate has changed.

        Connections of the old one carry what they have begun, and nothing new.
        """
        shown = self._shown
        if self._place is not None and shown is not None and shown.certificate == credentials.certificate:
            return self._place
        secure = self._server.scheme == "https"
        context = client_context(self._config, credentials) if secure else None
        try:
            port = self._server.port or (443 if secure else 80)
        except ValueError:
            raise ConfigError(f"server {self._config.server}: its port is no number below 65536") from None
        self._place = Place(self._server.hostname or "", port, context, self._config.tls_server_name)
        self._shown = credentials
        return self._place


class HttpStream:
    """The body of a watch."""

    def __init__(
        self, connections: Connections, connection: Connection, body: Body, silence_seconds: float
    ) -> None:
        self._connections = connections
        self._connection = connection
        self._body = body
        self._silence_seconds = silence_seconds
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while not self._closed:
                async with asyncio.timeout(self._silence_seconds):
                    piece = await self._connection.piece(self._body)
                if not piece:
                    break
                yield piece
        except (TransportError, TimeoutError, OSError) as error:
            if not self._closed:
                raise TransportError(f"the watch stream broke: {_reason(error)}") from error

    async def aclose(self) -> None:
        """Close the connection: a stream that has not ended cannot be used for anything else."""
        self._closed = True
        self._connections.drop(self._connection)


def _no_answer(request: Request, server: str, error: Exception) -> TransportError:
    return TransportError(f"{request.method} {server}{request.path}: no answer: {_reason(error)}")


def _reason(error: Exception) -> str:
    if isinstance(error, asyncio.TimeoutError):
        return "it took too long"
    return str(error) or type(error).__name__
