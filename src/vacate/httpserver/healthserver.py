"""Health and metrics of a process beside a cluster, over plain HTTP: /healthz, /livez, /readyz, /metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

from vacate.httpserver.health import Check, Health
from vacate.httpserver.listener import HttpListener
from vacate.metrics import Metrics, exposition
from vacate.wire.message import Request, Response

_TEXT = "text/plain; charset=utf-8"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class HealthServer:
    """Answers any client that can reach the address: nothing in it is secret, and nothing can be changed."""

    def __init__(
        self,
        metrics: Metrics,
        not_ready: Check,
        name: str = "manager",
        option: str = "--metrics-port",
        remark: Check = str,
    ) -> None:
        self._option = option  # what its user would change when the port is taken
        self._metrics = metrics
        self._health = Health({"ping": lambda: ""}, {name: not_ready}, {name: remark})
        self._listener = HttpListener(self.handle, None)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listener.port

    async def start(self, host: str, port: int) -> None:
        """Listen, or say what is in the way."""
        await self._listener.start_at(self._option, host, port)

    async def stop(self) -> None:
        """End what is under way and stop listening."""
        await self._listener.stop()

    async def handle(self, request: Request) -> Response:
        """Answer one request."""
        if request.method not in ("GET", "HEAD"):
            return Response(405, b"only GET is answered here\n", _TEXT)
        if request.path == "/metrics":
            return Response(200, _Pieces(exposition(self._metrics.registry)), _METRICS)
        return self._health.answer(request) or Response(404, b"not found\n", _TEXT)


class _Pieces:
    """A long text that lets others have a turn between its pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if piece:  # an empty one says that it takes a while
                yield piece
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        """Nothing is held."""
