"""Every write that the server has acknowledged is there after a crash, a full disk or a lost store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from vacate.api.objects import dig
from vacate.embedded.apiserver.inprocess import Handler
from vacate.embedded.store.log import Record
from vacate.sim.network import RequestObserver
from vacate.wire.message import Request, Response

_WRITES = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A write that a client had an answer to."""

    revision: int
    uid: str
    what: str


class AcknowledgedWrites:
    """Stands before the server and takes down what it acknowledges."""

    def __init__(self, behind: RequestObserver | None = None) -> None:
        self.writes: list[Acknowledged] = []
        self._behind = behind  # another that stands between this one and the server

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer, and take it down."""
        if self._behind is not None:
            response = await self._behind.handle(link, server, request)
        else:
            response = await server.handle(request)
        if request.method in _WRITES and 200 <= response.status < 300 and isinstance(response.body, bytes):
            self._take(request, response.body)
        return response

    def _take(self, request: Request, body: bytes) -> None:
        if "dryRun" in request.query:
            return
        try:
            obj = orjson.loads(body)
        except ValueError:
            return
        revision, uid = dig(obj, "metadata", "resourceVersion"), dig(obj, "metadata", "uid")
        if isinstance(revision, str) and revision.isdigit() and isinstance(uid, str):
            self.writes.append(Acknowledged(int(revision), uid, f"{request.method} {request.path}"))

    def lost(self, records: dict[int, Record]) -> Iterator[str]:
        """Acknowledged writes that the log, all of which is kept, does not have."""
        for one in self.writes:
            record = records.get(one.revision)
            if record is None:
                yield f"{one.what} was acknowledged as revision {one.revision}, and is lost"
