"""The HTTPS listener: aiohttp on one side, `handle(Request) -> Response` on the other; it decides nothing."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ssl
from collections.abc import Awaitable, Callable, Iterator
from weakref import WeakKeyDictionary

from aiohttp import HttpVersion10, HttpVersion11, StreamReader, web
from aiohttp.http_exceptions import HttpProcessingError

from vacate.errors import ApiError, BadRequest, ConfigError, RequestTooLarge, Timeout, TooManyRequests
from vacate.httpserver.connection import Limits, Listener, whole
from vacate.httpserver.responses import refusal
from vacate.pki.tls import peer_of
from vacate.wire.message import Peer, Request, Response

Handle = Callable[[Request], Awaitable[Response]]


class HttpListener:
    """A listening HTTPS server."""

    def __init__(self, handle: Handle, context: ssl.SSLContext | None, limits: Limits | None = None) -> None:
        self._handle = handle
        self._context = context
        self._limits = limits or Limits()
        self._peers: WeakKeyDictionary[ssl.SSLObject, Peer | None] = WeakKeyDictionary()
        self._listener = Listener(self._serve, self._limits)
        self._server: asyncio.Server | None = None
        self._in_flight = InFlight(self._limits.requests, self._limits.all_body_bytes)
        self._streams: dict[asyncio.Timeout, None] = {}
        self._last_answers = False
        self.port = 0

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._listener.connections)

    async def start(self, host: str, port: int) -> None:
        """Listen; OSError where the port is taken."""
        # A name of the address that a restarted server may take over at once, but no second one.
        self._server = await asyncio.get_running_loop().create_server(
            self._listener,
            host,
            port,
            ssl=self._context,
            ssl_handshake_timeout=self._limits.handshake_seconds if self._context else None,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def start_at(self, option: str, host: str, port: int) -> None:
        """Listen where an option of the command says; ConfigError names it where that is impossible."""
        try:
            await self.start(host, port)
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            why = "is taken by another program; choose another, or 0 for any free one" if taken else error
            raise ConfigError(f"{option}: {host}:{port}: {why}") from error

    def close_after_answer(self) -> None:
        """From now on every answer is the last of its connection: at the end none is in the middle of one."""
        self._last_answers = True

    async def stop(self) -> None:
        """Stop listening and end what is under way."""
        if self._server is not None:
            self._server.close()
        for stream in self._streams:
            stream.reschedule(0)  # a watch has no end of its own
        self._listener.pre_shutdown()
        await self._listener.shutdown(self._limits.stop_seconds)

    async def _serve(self, incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            with self._in_flight.enter() as place:
                request = await self._read(incoming, place)
                response = await self._handle(request)
        except ApiError as error:
            answer = whole(refusal(error))
            answer.force_close()
            return answer
        if isinstance(response.body, bytes):
            answer = whole(response)
            if self._last_answers:
                answer.force_close()
            return answer
        return await self._stream(incoming, response)

    async def _stream(self, incoming: web.BaseRequest, response: Response) -> web.StreamResponse:
        """Chunks as they come, until the last one or until the server stops."""
        assert not isinstance(response.body, bytes)
        out = _streaming(incoming, response)
        stopping = asyncio.timeout(None)
        self._streams[stopping] = None
        try:
            async with stopping:
                await out.prepare(incoming)
                async for chunk in response.body:
                    await out.write(chunk)
        except TimeoutError:
            if not stopping.expired():
                raise
        finally:
            del self._streams[stopping]
            await response.body.aclose()
        await out.write_eof()
        return out

    async def _read(self, incoming: web.BaseRequest, place: InFlightRequest) -> Request:
        if incoming.version < HttpVersion10:
            raise BadRequest("the request is not valid HTTP")
        return Request(
            incoming.method,
            incoming.rel_url.path,
            incoming.rel_url.query,
            incoming.headers,
            await _body(incoming, self._limits, place) if incoming.body_exists else b"",
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


async def _body(incoming: web.BaseRequest, limits: Limits, place: InFlightRequest) -> bytes:
    """The body, within a size and within a time: a client that stalls must not hold memory for ever."""
    most = limits.body_bytes_at(incoming.rel_url.path)
    if (incoming.content_length or 0) > most:
        raise _too_large(most)
    await _send_continue(incoming)
    try:
        if incoming.content.is_eof():  # all of it is there already, as most often
            body = incoming.content.read_nowait()
            if len(body) > most:
                raise _too_large(most)
            place.take(len(body))
            return body
        async with asyncio.timeout(limits.body_seconds):
            return await _read_on(incoming.content, most, place)
    except TimeoutError:
        raise Timeout("Timeout: request did not complete within the allotted timeout") from None
    except (web.RequestPayloadError, HttpProcessingError):
        raise BadRequest("the body of the request is not valid HTTP") from None


async def _read_on(content: StreamReader, most: int, place: InFlightRequest) -> bytes:
    chunks, size = [], 0
    async for chunk in content.iter_any():
        place.take(len(chunk))
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            raise _too_large(most)
    return b"".join(chunks)


async def _send_continue(incoming: web.BaseRequest) -> None:
    """Tell a client that waits for it to send its body."""
    expected = incoming.headers.get("Expect")
    if expected is None or incoming.version < HttpVersion11:
        return
    if expected.lower() != "100-continue":
        raise ApiError("the server cannot do what the Expect header asks for", code=417)
    await incoming.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    incoming.writer.output_size = 0  # the answer itself has not begun


def _too_large(most: int) -> RequestTooLarge:
    return RequestTooLarge(f"Request entity too large: limit is {most}")


def _streaming(incoming: web.BaseRequest, response: Response) -> web.StreamResponse:
    headers = {"Content-Type": response.content_type, **response.headers}
    out = web.StreamResponse(status=response.status, headers=headers)
    if incoming.version >= HttpVersion11:
        out.enable_chunked_encoding()
    else:
        out.force_close()  # an older client reads until the connection ends
    return out


_RETRY_SECONDS = 1


class InFlight:
    """A limit of requests under way; None is no limit."""

    def __init__(self, requests: int | None = None, body_bytes: int | None = None) -> None:
        self._most_requests = requests
        self._most_bytes = body_bytes
        self.requests = 0
        self.body_bytes = 0

    @contextlib.contextmanager
    def enter(self) -> Iterator[InFlightRequest]:
        """A place for one request until it is answered; TooManyRequests where there is none."""
        if self._most_requests is not None and self.requests >= self._most_requests:
            raise _full(f"{self.requests} requests are under way")
        self.requests += 1
        place = InFlightRequest(self)
        try:
            yield place
        finally:
            self.requests -= 1
            self.body_bytes -= place.body_bytes

    def take(self, size: int) -> None:
        """Reserve so many bytes; TooManyRequests where the limit is reached."""
        if self._most_bytes is not None and self.body_bytes + size > self._most_bytes:
            raise _full("the requests under way fill the memory that there is for them")
        self.body_bytes += size


class InFlightRequest:
    """What one request holds."""

    def __init__(self, room: InFlight) -> None:
        self._room = room
        self.body_bytes = 0

    def take(self, size: int) -> None:
        """Hold so many bytes more, until the request is answered."""
        self._room.take(size)
        self.body_bytes += size


def _full(why: str) -> TooManyRequests:
    return TooManyRequests(f"{why}; try again later", details={"retryAfterSeconds": _RETRY_SECONDS})
