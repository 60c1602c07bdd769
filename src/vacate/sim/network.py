"""The network of a simulation: links between clients and one server, with seeded latency, cuts and crashes.

Requests and answers travel as bytes through the server's own `handle`. A cut link loses requests after a
timeout and lets open watches fall silent, as a real one does; a dead server refuses connections.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Protocol

from vacate.clock import Clock
from vacate.embedded.apiserver.inprocess import Handler
from vacate.entropy import Entropy
from vacate.errors import TransportError
from vacate.wire.message import Peer, Request, Response, Stream

REQUEST_TIMEOUT = 10.0
"""Seconds until a client gives up on a request that nobody answers."""


class RequestObserver(Protocol):
    """Stands between the network and the server, and sees what goes through."""

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer."""
        ...


class Network:
    """Connects links to whichever server runs at the moment."""

    def __init__(self, clock: Clock, entropy: Entropy, latency: tuple[float, float]) -> None:
        self.clock = clock
        self._entropy = entropy
        self._latency = latency
        self.server: Handler | None = None
        self.audit: RequestObserver | None = None
        self._links: dict[str, Link] = {}
        self._slow: dict[str, float] = {}  # seconds by the name of a link
        self._stragglers: dict[asyncio.Task[None], None] = {}

    def link(self, name: str, peer: Peer) -> Link:
        """A transport for one client, under a name by which it can be cut; the same name, the same cut."""
        known = self._links.get(name)
        made = Link(self, name, peer, cut=known is not None and known.is_cut)
        self._links[name] = made
        return made

    def cut(self, name: str) -> None:
        """Separate a client from the server."""
        self._links[name].is_cut = True

    def is_cut(self, name: str) -> bool:
        """Whether nothing gets through from or to this link."""
        return self._links[name].is_cut

    def mend(self, name: str) -> None:
        """Undo `cut`."""
        self._links[name].is_cut = False

    def slow_down(self, name: str, seconds: float) -> None:
        """From now on each way of a client takes up to so many seconds longer; 0 undoes it."""
        self._slow[name] = seconds

    def kill(self, name: str) -> None:
        """Close a client's end for good; a new link of that name works again."""
        if name in self._links:
            self._links[name].closed = True

    async def deliver(self, link: str, server: Handler, request: Request) -> Response:
        """What the server answers, audited if anybody listens."""
        if self.audit is None:
            return await server.handle(request)
        return await self.audit.handle(link, server, request)

    def straggle(self, link: Link, request: Request, seconds: float) -> None:
        """Let a request arrive so much later, and its answer reach nobody. Its client may be dead by then."""
        task = asyncio.get_running_loop().create_task(self._arrive(link, request, seconds), name="straggler")
        self._stragglers[task] = None
        task.add_done_callback(lambda done: self._stragglers.pop(done, None))

    async def stop(self) -> None:
        """Lose what is still under way."""
        waiting = list(self._stragglers)
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting)

    async def _arrive(self, link: Link, request: Request, seconds: float) -> None:
        await self.clock.sleep(seconds)
        if self.server is None or link.is_cut:
            return
        with contextlib.suppress(TransportError):
            response = await self.deliver(link.name, self.server, replace(request, peer=link.peer))
            await _discard(response)

    async def travel(self, link: str) -> None:
        """One way through the network."""
        low, high = self._latency
        high += self._slow.get(link, 0.0)
        if high > 0:
            await self.clock.sleep(self._entropy.uniform(low, high))


class Link:
    """A client's transport to the server."""

    def __init__(self, network: Network, name: str, peer: Peer, *, cut: bool = False) -> None:
        self._network = network
        self.peer = peer
        self.name = name
        self.is_cut = cut
        self.closed = False

    async def send(self, request: Request) -> Response:
        """There and back again; TransportError where the link is cut or the server down, at either end."""
        await self._check(request)
        await self._network.travel(self.name)
        server = self._network.server
        if server is None:
            raise TransportError(f"{request.method} {request.path}: connection refused")
        request.peer = self.peer
        response = await self._network.deliver(self.name, server, request)
        if not isinstance(response.body, bytes):
            response.body = LinkStream(self._network, self, server, response.body)
        await self._network.travel(self.name)
        if self._network.server is not server or self.is_cut:
            await _discard(response)
            raise TransportError(f"{request.method} {request.path}: the answer was lost")
        return response

    def straggle(self, request: Request, seconds: float) -> None:
        """Let a request arrive so much later."""
        self._network.straggle(self, request, seconds)

    async def aclose(self) -> None:
        """Nothing is held."""

    async def _check(self, request: Request) -> None:
        if self.closed:
            raise TransportError(f"{request.method} {request.path}: the connection is closed")
        if self.is_cut:
            await self._network.clock.sleep(REQUEST_TIMEOUT)
            raise TransportError(f"{request.method} {request.path}: no answer in {REQUEST_TIMEOUT:g} s")


class LinkStream:
    """A watch on its way through a link. What is sent while the link is cut never arrives."""

    def __init__(self, network: Network, link: Link, server: Handler, stream: Stream) -> None:
        self._network = network
        self._link = link
        self._server = server
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        broken = False
        async for chunk in self._stream:
            await self._network.travel(self._link.name)
            broken = broken or self._link.is_cut
            if self._network.server is not self._server:
                break
            if not broken:
                yield chunk
            elif not self._link.is_cut:
                raise TransportError("the watch stream was reset")
        if broken or self._network.server is not self._server:
            raise TransportError("the watch stream was cut")

    async def aclose(self) -> None:
        """Close the server's end."""
        await self._stream.aclose()


async def _discard(response: Response) -> None:
    if not isinstance(response.body, bytes):
        await response.body.aclose()
