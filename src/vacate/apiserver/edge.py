"""The HTTPS edge: aiohttp on one side, `handle(Request) -> Response` on the other; it decides nothing."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from weakref import WeakKeyDictionary

from aiohttp import web

from vacate.apiserver import respond
from vacate.apiserver.codec import MAX_BODY_BYTES
from vacate.apiserver.pki_tls import peer_of
from vacate.errors import ApiError, BadRequest, RequestTooLarge, Timeout
from vacate.wire.message import Peer, Request, Response

Handle = Callable[[Request], Awaitable[Response]]

_BODY_SECONDS = 60.0
_STALLED_SECONDS = 60.0
_STOP_SECONDS = 2.0
_log = logging.getLogger(__name__)


class Edge:
    """A listening HTTPS server."""

    def __init__(self, handle: Handle, context: ssl.SSLContext | None) -> None:
        self._handle = handle
        self._context = context
        self._peers: WeakKeyDictionary[ssl.SSLObject, Peer | None] = WeakKeyDictionary()
        self._server = web.Server(self._serve, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(self._server, shutdown_timeout=_STOP_SECONDS)
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Listen; OSError where the port is taken."""
        await self._runner.setup()
        # A name of the address that a restarted server may take over at once, but no second one.
        site = web.TCPSite(self._runner, host, port, ssl_context=self._context)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening and end what is under way."""
        await self._runner.cleanup()

    async def _serve(self, incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            request = await self._read(incoming)
        except ApiError as error:
            answer = _whole(respond.refusal(error))
            answer.force_close()
            return answer
        response = await self._handle(request)
        if isinstance(response.body, bytes):
            return _whole(response)
        return await _stream(incoming, response)

    async def _read(self, incoming: web.BaseRequest) -> Request:
        return Request(
            incoming.method,
            incoming.rel_url.path,
            incoming.rel_url.query,
            incoming.headers,
            await _body(incoming) if incoming.body_exists else b"",
            self._peer(incoming.transport),
        )

    def _peer(self, transport: asyncio.BaseTransport | None) -> Peer | None:
        """The verified client certificate's subject, read once for each connection."""
        connection = transport.get_extra_info("ssl_object") if transport is not None else None
        if connection is None:
            return None
        if connection not in self._peers:
            self._peers[connection] = peer_of(connection)
        return self._peers[connection]


async def _body(incoming: web.BaseRequest) -> bytes:
    """The body, within a size and within a time: a client that stalls must not hold memory for ever."""
    if (incoming.content_length or 0) > MAX_BODY_BYTES:
        raise _too_large()
    chunks = []
    size = 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in incoming.content.iter_any():
                size += len(chunk)
                if size > MAX_BODY_BYTES:
                    raise _too_large()
                chunks.append(chunk)
    except TimeoutError:
        raise Timeout(f"the body did not arrive within {_BODY_SECONDS:.0f} seconds") from None
    except (web.HTTPException, ValueError) as error:
        raise BadRequest(f"the body could not be read: {error}") from None
    return b"".join(chunks)


def _too_large() -> RequestTooLarge:
    return RequestTooLarge(f"Request entity too large: limit is {MAX_BODY_BYTES}")


def _whole(response: Response) -> web.Response:
    assert isinstance(response.body, bytes)
    headers = {"Content-Type": response.content_type, **response.headers}
    return web.Response(body=response.body, status=response.status, headers=headers)


async def _stream(incoming: web.BaseRequest, response: Response) -> web.StreamResponse:
    """Chunks as they come. A client that does not read is cut off, and the stream is closed in any case."""
    assert not isinstance(response.body, bytes)
    headers = {"Content-Type": response.content_type, **response.headers}
    out = web.StreamResponse(status=response.status, headers=headers)
    out.enable_chunked_encoding()
    try:
        await out.prepare(incoming)
        async for chunk in response.body:
            async with asyncio.timeout(_STALLED_SECONDS):
                await out.write(chunk)
        await out.write_eof()
    except (ConnectionError, TimeoutError):
        _abort(incoming)
    finally:
        await response.body.aclose()
    return out


def _abort(incoming: web.BaseRequest) -> None:
    if incoming.transport is not None:
        incoming.transport.abort()
