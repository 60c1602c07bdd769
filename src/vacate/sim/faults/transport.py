"""A transport that goes wrong on purpose, for simulations and tests.

A plan is asked about every request and answers with a fault. The same seed gives the same faults.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from multidict import MultiDict

from vacate.api.objects import encode
from vacate.api.status import to_status
from vacate.client.transport import Transport, close_iterator
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import InternalError, TransportError
from vacate.wire.message import Request, Response, Stream

FIRST_REVISION = 1
"""No watch begins before this one."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one request; several things may."""

    delay: float = 0.0  # seconds on the way there
    lost: bool = False  # the request never arrives
    unanswered: bool = False  # it is carried out, and the answer is lost
    status: int = 0  # answered with this code, not carried out
    status_after: int = 0  # carried out, and yet answered with this code
    cut_after: int | None = None  # a watch breaks after so many chunks
    stall_after: int | None = None  # a watch falls silent after so many chunks, and stays open
    repeat: bool = False  # every chunk of a watch comes twice
    lag: float = 0.0  # every chunk of a watch comes so many seconds late
    rewind: int = 0  # a watch begins so many revisions earlier, and tells what its client knows already
    late: float = 0.0  # its client gives up, and so many seconds later it is carried out all the same
    twice: float = 0.0  # it is carried out, and so many seconds later once more


NO_FAULT = Fault()


class FaultSource(Protocol):
    """Decides what goes wrong."""

    def fault(self, request: Request) -> Fault:
        """The fault of this request."""
        ...


@dataclass(frozen=True, slots=True)
class RequestFaultRates:
    """How probable each fault is, from 0 to 1; delays are up to so many seconds."""

    delay: float = 0.0
    lost: float = 0.0
    unanswered: float = 0.0
    refused: float = 0.0
    cut: float = 0.0
    stall: float = 0.0
    repeat: float = 0.0


class RandomPlan:
    """Faults by chance. Every fault is drawn for every request, so that a seed keeps its meaning."""

    def __init__(self, chances: RequestFaultRates, entropy: Entropy) -> None:
        self._chances = chances
        self._entropy = entropy

    def fault(self, request: Request) -> Fault:
        """Draw a fault; of several the first in this order: lost, refused, unanswered."""
        chances = self._chances
        lost, unanswered, refused = (
            self._hits(chance) for chance in (chances.lost, chances.unanswered, chances.refused)
        )
        cut, stall, repeat = (self._hits(chance) for chance in (chances.cut, chances.stall, chances.repeat))
        chunks = int(self._entropy.uniform(0, 10))
        return Fault(
            delay=self._entropy.uniform(0, chances.delay),
            lost=lost,
            unanswered=unanswered,
            status=503 if refused else 0,
            cut_after=chunks if cut else None,
            stall_after=chunks if stall else None,
            repeat=repeat,
        )

    def _hits(self, chance: float) -> bool:
        return self._entropy.uniform(0, 1) < chance


class Script:
    """Faults in a fixed order, for tests; none after the last."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._faults: Iterator[Fault] = iter(faults)

    def fault(self, request: Request) -> Fault:
        """The next fault."""
        return next(self._faults, NO_FAULT)


Straggle = Callable[[Request, float], None]
"""Lets a request arrive after so many seconds, whatever has become of its client by then."""


class FaultyTransport:
    """Wraps a transport and lets a plan interfere."""

    def __init__(
        self, transport: Transport, plan: FaultSource, clock: Clock, straggle: Straggle | None = None
    ) -> None:
        self._transport = transport
        self._plan = plan
        self._clock = clock
        self._straggle = straggle  # without it nothing arrives late

    async def send(self, request: Request) -> Response:
        """Carry the request as far as its fault allows."""
        fault = self._plan.fault(request)
        if fault.delay > 0:
            await self._clock.sleep(fault.delay)
        if fault.late and self._straggle is not None:
            self._straggle(request, fault.late)
            raise TransportError(f"{request.method} {request.path}: no answer in time")
        if fault.twice and self._straggle is not None:
            self._straggle(request, fault.twice)
        if fault.lost:
            raise TransportError(f"{request.method} {request.path}: the request was lost")
        if fault.status:
            return _refusal(fault.status)
        if fault.rewind:
            request = _earlier(request, fault.rewind)
        response = await self._transport.send(request)
        if fault.unanswered or fault.status_after:
            await _discard(response)
        if fault.status_after:
            return _refusal(fault.status_after)
        if fault.unanswered:
            raise TransportError(f"{request.method} {request.path}: the answer was lost")
        if not isinstance(response.body, bytes):
            response.body = FaultyStream(response.body, fault, self._clock)
        return response

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()


class FaultyStream:
    """A watch stream that breaks, falls silent, lags behind or stutters."""

    def __init__(self, stream: Stream, fault: Fault, clock: Clock) -> None:
        self._stream = stream
        self._fault = fault
        self._clock = clock

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._stream)
        seen = 0
        try:
            while True:
                await self._interfere(seen)
                chunk = await anext(chunks, None)
                if chunk is None:
                    return
                seen += 1
                if self._fault.lag > 0:
                    await self._clock.sleep(self._fault.lag)
                yield chunk
                if self._fault.repeat:
                    yield chunk
        finally:
            await close_iterator(chunks)

    async def _interfere(self, seen: int) -> None:
        if self._fault.cut_after == seen:
            raise TransportError("the watch stream was cut")
        if self._fault.stall_after == seen:
            while True:
                await self._clock.sleep(3600.0)

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._stream.aclose()


def _refusal(status: int) -> Response:
    """What a server or a proxy says that cannot serve; a busy one also says when to come back."""
    error = InternalError("injected fault", reason="", code=status)
    return Response(
        status, encode(to_status(error)), headers={"Retry-After": "1"} if status in (429, 503) else {}
    )


def _earlier(request: Request, revisions: int) -> Request:
    """A watch from an older revision. One that begins with the present state has none to begin from."""
    version = request.query.get("resourceVersion", "")
    if not version.isdigit() or "sendInitialEvents" in request.query:
        return request
    query = MultiDict(request.query)
    query["resourceVersion"] = str(max(int(version) - revisions, FIRST_REVISION))
    return replace(request, query=query)


async def _discard(response: Response) -> None:
    if not isinstance(response.body, bytes):
        await response.body.aclose()
