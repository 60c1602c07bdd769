"""A watch: a stream of events that must be closed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Generic, TypeVar

from vacate.client.codec import Codec, WatchEvent, error_of
from vacate.client.transport import Transport, close_iterator
from vacate.errors import TransportError, VacateError
from vacate.wire.framing import LineSplitter
from vacate.wire.message import Request, Stream

T = TypeVar("T")

__all__ = ["Watch", "WatchEvent"]


class Watch(Generic[T]):
    """Events of one collection. Iterate, or `read` in batches; close when done.

    Nothing is sent before the first read. An ERROR event raises the error that it describes, so an expired
    revision is a `Gone`; a stream that breaks is a `TransportError`; a stream that the server ends just ends.
    """

    def __init__(self, transport: Transport, request: Request, codec: Codec[T]) -> None:
        self._transport = transport
        self._request = request
        self._codec = codec
        self._splitter = LineSplitter()
        self._stream: Stream | None = None  # set from the answer until it is closed
        self._chunks: AsyncIterator[bytes] | None = None  # of the stream
        self._error: VacateError | None = None  # ends the stream at the next read
        self._closed = False

    async def open(self) -> None:
        """Send the request and return once the server has accepted it."""
        if self._stream is not None or self._closed:
            return
        response = await self._transport.send(self._request)
        body = response.body
        if response.status != 200:
            text = body if isinstance(body, bytes) else await _drain(body)
            raise error_of(response.status, text, response.headers.get("Retry-After", ""))
        if isinstance(body, bytes):
            raise TransportError("the server answered a watch with a body that is not a stream")
        self._stream, self._chunks = body, aiter(body)

    async def read(self) -> list[WatchEvent[T]] | None:
        """What came with the next chunk, at least one event; None when the server has ended the stream."""
        await self.open()
        while self._chunks is not None:
            if self._error is not None:
                raise self._error
            chunk = await anext(self._chunks, None)
            if chunk is None:
                break
            if lines := self._splitter.feed(chunk):
                return self._decode(lines)
        if self._splitter.pending and not self._closed:
            raise TransportError("the watch stream broke off in the middle of an event")
        return None

    def _decode(self, lines: list[bytes]) -> list[WatchEvent[T]]:
        """The events before an error are handed out first; the error comes with the next read."""
        events: list[WatchEvent[T]] = []
        decode = self._codec.decode_event
        for line in lines:
            try:
                events.append(decode(line))
            except VacateError as error:
                if not events:
                    raise
                self._error = error
                break
        return events

    async def aclose(self) -> None:
        """Let go of the stream. May be called twice."""
        self._closed = True
        stream, chunks = self._stream, self._chunks
        self._stream = self._chunks = None
        if chunks is not None:
            await close_iterator(chunks)
        if stream is not None:
            await stream.aclose()

    async def __aiter__(self) -> AsyncIterator[WatchEvent[T]]:
        try:
            while (batch := await self.read()) is not None:
                for event in batch:
                    yield event
        finally:
            await self.aclose()

    async def __aenter__(self) -> Watch[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def _drain(stream: Stream) -> bytes:
    try:
        return b"".join([chunk async for chunk in stream])
    finally:
        await stream.aclose()
