"""Connections to one server: opened when they are needed, and kept for a while for the next request."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass

from aiohappyeyeballs import start_connection

from vacate.client.http1 import MAX_HEAD, AnswerHead, Body, read_head
from vacate.client.sockets import lively_socket
from vacate.errors import TransportError

KEPT_SECONDS = 15.0
"""An idle connection is closed after so long, before load balancers in between drop it without a word."""

_NEXT_ADDRESS_SECONDS = 0.25  # while one address of the server does not answer, the next is tried
_PIECE = 256 * 1024
_END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server is, and how TLS with it is made; None for plain HTTP."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    tls_name: str = ""  # in the server's certificate, where it is not the host


class _Protocol(asyncio.StreamReaderProtocol):
    """Notices what the server sends when nothing was requested."""

    idle = False
    broken = False

    def data_received(self, data: bytes) -> None:
        self.broken = self.broken or self.idle
        super().data_received(data)


class Connection:
    """One connection. It carries one request at a time."""

    def __init__(self, place: Place, protocol: _Protocol, reader: asyncio.StreamReader) -> None:
        self.place = place
        self.used = False  # it has carried a request before
        self.idle_since = 0.0
        self._protocol = protocol
        self._reader = reader
        self._writer: asyncio.StreamWriter

    async def open(self, made: socket.socket) -> None:
        """Speak TLS over the socket, where that is wanted."""
        loop, place = asyncio.get_running_loop(), self.place
        name = (place.tls_name or place.host) if place.tls else None
        transport, _ = await loop.create_connection(
            lambda: self._protocol, sock=made, ssl=place.tls, server_hostname=name
        )
        self._writer = asyncio.StreamWriter(transport, self._protocol, self._reader, loop)

    @property
    def usable(self) -> bool:
        """Whether the server has neither closed it nor sent what nobody requested."""
        return not (self._reader.at_eof() or self._writer.is_closing() or self._protocol.broken)

    def rest(self, now: float) -> None:
        """It waits for the next request from now on."""
        self.used, self.idle_since, self._protocol.idle = True, now, True

    def wake(self) -> None:
        """The next request begins."""
        self._protocol.idle = False

    def write(self, data: bytes) -> None:
        """Send, without waiting until the server reads: it may answer before it has read everything."""
        self._writer.write(data)

    async def head(self) -> AnswerHead:
        """The head of the answer."""
        while True:
            try:
                data = await self._reader.readuntil(_END_OF_HEAD)
            except asyncio.IncompleteReadError as error:
                if not error.partial:
                    raise ConnectionResetError("the server closed the connection") from None
                raise TransportError("the connection ended in the middle of the answer") from None
            except asyncio.LimitOverrunError:
                raise TransportError("the head of the answer is too long") from None
            if len(data) > MAX_HEAD:
                raise TransportError("the head of the answer is too long")
            found = read_head(data)
            if found.status >= 200:  # those before only announce it
                return found

    async def piece(self, body: Body) -> bytes:
        """The next part of the body; empty at its end."""
        while not body.complete:
            data = await self._reader.read(_PIECE)
            if not data and body.ends_with_connection:
                break
            if not data:
                raise TransportError("the connection ended in the middle of the answer")
            if found := body.feed(data):
                return found
        return b""

    def abort(self) -> None:
        """Close at once, without the farewell of TLS: a loop that ends before that could not be closed."""
        self._writer.transport.abort()


class Connections:
    """Those of one server. A connection belongs to its borrower until it is given back or dropped."""

    def __init__(self, limit: int, connect_seconds: float) -> None:
        self._room = asyncio.Semaphore(limit)
        self._connect_seconds = connect_seconds
        self._idle: list[Connection] = []
        self._lent: set[Connection] = set()
        self._sweep: asyncio.TimerHandle | None = None

    async def borrow(self, place: Place, *, new: bool = False) -> Connection:
        """An idle connection, else a new one; waits while there are too many."""
        await self._room.acquire()
        try:
            connection = (None if new else self._take_idle(place)) or await self._open(place)
        except BaseException:
            self._room.release()
            raise
        self._lent.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        """It can carry the next request."""
        if connection not in self._lent:
            return
        self._lent.discard(connection)
        self._room.release()
        loop = asyncio.get_running_loop()
        connection.rest(loop.time())
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = loop.call_later(KEPT_SECONDS, self._close_idle)

    def drop(self, connection: Connection) -> None:
        """It cannot."""
        if connection in self._lent:
            self._lent.discard(connection)
            self._room.release()
        connection.abort()

    async def aclose(self) -> None:
        """Close all, and whatever is under way breaks."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.abort()
        for connection in list(self._lent):
            self.drop(connection)
        await asyncio.sleep(0)  # sockets are closed in the next turn of the loop

    def _take_idle(self, place: Place) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()  # the last one used is the likeliest to be open still
            if connection.usable and connection.place is place:
                connection.wake()
                return connection
            connection.abort()
        return None

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        oldest = loop.time() - KEPT_SECONDS
        old = [one for one in self._idle if one.idle_since <= oldest or not one.usable]
        self._idle = [one for one in self._idle if one not in old]
        for connection in old:
            connection.abort()
        self._sweep = None
        if self._idle:
            due = min(one.idle_since for one in self._idle) + KEPT_SECONDS
            self._sweep = loop.call_at(due, self._close_idle)

    async def _open(self, place: Place) -> Connection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._connect_seconds):
            found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
            made = await start_connection(
                found, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS, socket_factory=lively_socket
            )
            reader = asyncio.StreamReader(limit=_PIECE, loop=loop)
            connection = Connection(place, _Protocol(reader, loop=loop), reader)
            try:
                await connection.open(made)
            except BaseException:
                made.close()
                raise
        return connection
