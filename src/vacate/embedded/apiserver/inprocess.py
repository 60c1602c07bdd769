"""The transport to a server in the same process: no sockets, yet bytes as on any wire."""

from __future__ import annotations

from typing import Protocol

from vacate.wire.message import Peer, Request, Response


class Handler(Protocol):
    """A server, as in-process callers see it."""

    async def handle(self, request: Request) -> Response:
        """Answer one request."""
        ...


class InProcessTransport:
    """Calls a server directly, under the identity that a client certificate would give."""

    def __init__(self, server: Handler, peer: Peer | None = None) -> None:
        self._server = server
        self._peer = peer

    async def send(self, request: Request) -> Response:
        """Hand the request to the server with this transport's identity on it."""
        signed = Request(
            request.method, request.path, request.query, request.headers, request.body, self._peer
        )
        return await self._server.handle(signed)

    async def aclose(self) -> None:
        """Nothing is held."""
