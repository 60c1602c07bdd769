"""What reached the server and what it answered, for invariants: also what reached no client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vacate.embedded.apiserver.inprocess import Handler
from vacate.wire.message import Request, Response


@dataclass(slots=True)
class RecordedRequest:
    """One request that reached the server."""

    link: str  # the client's process
    method: str
    path: str
    body: bytes
    at: float  # virtual seconds
    status: int = 0  # 0 while the server works on it; it stays so where the server crashed
    answered: float = 0.0

    @property
    def accepted(self) -> bool:
        """Whether the server did what was asked."""
        return 200 <= self.status < 300


class Audit:
    """Remembers the requests that `wanted` asks for."""

    def __init__(self, time: Callable[[], float], wanted: Callable[[Request], bool]) -> None:
        self._time = time
        self._wanted = wanted
        self.heard: list[RecordedRequest] = []

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer, and take it down."""
        if not self._wanted(request):
            return await server.handle(request)
        entry = RecordedRequest(link, request.method, request.path, request.body, self._time())
        self.heard.append(entry)
        response = await server.handle(request)
        entry.status, entry.answered = response.status, self._time()
        return response
