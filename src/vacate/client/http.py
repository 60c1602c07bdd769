"""The transport over HTTPS."""

from __future__ import annotations

import io
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from multidict import CIMultiDict

from vacate.client.config import ClusterConfig
from vacate.client.credentials import Credentials, source_of
from vacate.client.sockets import keepalive_socket
from vacate.client.tls import client_context
from vacate.clock import PassiveClock
from vacate.errors import ConfigError, TransportError
from vacate.wire.failures import failure_reason
from vacate.wire.message import Request, Response

if TYPE_CHECKING:
    import aiohttp


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections, and the timeouts in seconds."""

    connections: int = 256  # each open watch holds one
    connect_seconds: float = 10.0
    answer_seconds: float = 65.0  # API servers give up after 60
    # Servers send a bookmark about every minute: a watch without a byte for longer is half open.
    silence_seconds: float = 180.0


_ALL_AT_ONCE = 512 * 1024  # longer bodies are sent piece by piece, so that other requests get a turn


class HttpTransport:
    """Requests to one API server over kept-alive connections."""

    def __init__(self, config: ClusterConfig, clock: PassiveClock, limits: Limits | None = None) -> None:
        self._config = config
        self._limits = limits or Limits()
        self._credentials = source_of(config, clock)
        self._shown: Credentials | None = None  # whose certificate the session was made with
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Request) -> Response:
        """Send, and read the whole answer, or for an accepted watch its beginning."""
        import aiohttp  # noqa: PLC0415  only those who use HTTP pay for it

        credentials = await self._current_credentials()
        session = await self._session_for(credentials)
        watching = any(request.query.get(key) in ("true", "1") for key in ("watch", "follow"))
        try:
            answer = await session.request(
                request.method,
                self._url(request),
                params=request.query or None,
                headers=self._headers(request, credentials),
                data=_payload(request.body),
                timeout=self._timeout(watching=watching),
                allow_redirects=False,
                server_hostname=self._config.tls_server_name or None,
            )
            if answer.status == 401:
                self._credentials.rejected()
            if watching and answer.status == 200:
                return Response(200, HttpStream(answer), answer.content_type, answer.headers)
            return Response(answer.status, await answer.read(), answer.content_type, answer.headers)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _no_answer(request, self._config.server, error) from error

    async def aclose(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _current_credentials(self) -> Credentials:
        """Wrong from the start is for a person to mend; after a success it is trouble that may pass."""
        try:
            return await self._credentials.current()
        except ConfigError as error:
            if self._session is None:
                raise
            raise TransportError(f"no credentials: {error}") from error

    def _url(self, request: Request) -> str:
        return self._config.server + quote(request.path, safe="/:@-._~!$&'()*,;=")

    def _headers(self, request: Request, credentials: Credentials) -> CIMultiDict[str]:
        headers = CIMultiDict(request.headers)
        if credentials.token:
            headers["Authorization"] = f"Bearer {credentials.token}"
        if self._config.impersonate:
            headers["Impersonate-User"] = self._config.impersonate
            for group in self._config.impersonate_groups:
                headers.add("Impersonate-Group", group)
        return headers

    def _timeout(self, *, watching: bool) -> aiohttp.ClientTimeout:
        import aiohttp  # noqa: PLC0415

        connect = self._limits.connect_seconds
        if watching:
            silence = self._limits.silence_seconds
            return aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=silence)
        return aiohttp.ClientTimeout(total=self._limits.answer_seconds, sock_connect=connect)

    async def _session_for(self, credentials: Credentials) -> aiohttp.ClientSession:
        """The session, made anew when the client's certificate has changed."""
        shown = self._shown
        if self._session is not None and shown is not None and shown.certificate == credentials.certificate:
            return self._session
        old, self._session = self._session, self._new_session(credentials)
        self._shown = credentials
        if old is not None:
            await old.close()
        return self._session

    def _new_session(self, credentials: Credentials) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415

        context: ssl.SSLContext | bool = True
        if self._config.server.startswith("https://"):
            context = client_context(self._config, credentials)
        connector = aiohttp.TCPConnector(
            limit=self._limits.connections, ssl=context, socket_factory=keepalive_socket
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # Compressing costs more than it saves on the short way to an API server.
            headers={"Accept-Encoding": "identity"},
        )


class HttpStream:
    """The body of a watch."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        import aiohttp  # noqa: PLC0415

        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TransportError(f"the watch stream broke: {failure_reason(error)}") from error

    async def aclose(self) -> None:
        """Close the connection: a stream that has not ended cannot be used for anything else.

        At once, without the close of TLS: a loop that ends before the server answers it could not be closed.
        """
        connection = self._answer.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._answer.close()


def _no_answer(request: Request, server: str, error: Exception) -> TransportError:
    return TransportError(f"{request.method} {server}{request.path}: no answer: {failure_reason(error)}")


def _payload(body: bytes) -> bytes | io.BytesIO | None:
    if len(body) > _ALL_AT_ONCE:
        return io.BytesIO(body)
    return body or None
