"""Watches the answers to a controller: after an accepted eviction it does not post another one soon."""

from __future__ import annotations

from collections.abc import Callable

from vacate.client.transport import Transport
from vacate.sim.auditlog import RecordedRequest
from vacate.sim.invariants.evictions import uid_of
from vacate.wire.message import Request, Response

TIMEOUT = 29.0
"""Seconds that an accepted eviction may take to show in a cache."""


class EvictionObserver:
    """The outermost transport of one life of a controller."""

    def __init__(
        self, name: str, transport: Transport, time: Callable[[], float], breaches: list[str]
    ) -> None:
        self._name = name
        self._transport = transport
        self._time = time
        self._breaches = breaches
        self._accepted: dict[str, float] = {}  # when, by uid of the pod

    async def send(self, request: Request) -> Response:
        if not request.path.endswith("/eviction"):
            return await self._transport.send(request)
        entry = RecordedRequest(self._name, request.method, request.path, request.body, self._time())
        uid = uid_of(entry)
        known = self._accepted.get(uid)
        if known is not None and entry.at - known < TIMEOUT:
            self._breaches.append(
                f"{entry.at:.3f} s: {self._name} evicts {uid} again, accepted at {known:.3f} s"
            )
        response = await self._transport.send(request)
        if 200 <= response.status < 300:
            self._accepted[uid] = self._time()
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()
