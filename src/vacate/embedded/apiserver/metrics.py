"""Counts and times of requests; label children are resolved once, since a look-up costs microseconds."""

from __future__ import annotations

from collections.abc import AsyncIterator

from prometheus_client import Counter, Gauge, Histogram

from vacate.api.kinds import ALL_VERBS
from vacate.embedded.apiserver.request.route import KINDS, Route
from vacate.metrics import Metrics
from vacate.wire.message import Stream

_VERBS = frozenset({*ALL_VERBS, "head", "post", "put"})


class RequestMetrics:
    """Remembers the label children of everything that has been answered before."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._counters: dict[tuple[str, str, str, str, str, int], Counter] = {}
        self._timers: dict[tuple[str, str], Histogram] = {}

    def answered(self, address: Route, code: int, seconds: float) -> None:
        """One more answer. Addresses that nobody serves share one label, or strangers could fill memory."""
        kind = KINDS.get((address.group, address.version, address.resource))
        verb = address.verb if address.verb in _VERBS else "other"
        if kind is None:
            key = (verb, "", "", "", "", code)
        else:
            subresource = address.subresource if kind.subresource(address.subresource) else ""
            key = (verb, kind.group, kind.version, kind.plural, subresource, code)
        self._counter(key).inc()
        if verb != "watch":
            self._timer((verb, key[3])).observe(seconds)

    def watched(self, address: Route, stream: Stream) -> Stream:
        """The stream of a watch that was opened, counted until it is closed."""
        return _Counted(stream, self._metrics.watches.labels(address.resource))

    def _counter(self, key: tuple[str, str, str, str, str, int]) -> Counter:
        child = self._counters.get(key)
        if child is None:
            child = self._counters[key] = self._metrics.requests.labels(*map(str, key))
        return child

    def _timer(self, key: tuple[str, str]) -> Histogram:
        child = self._timers.get(key)
        if child is None:
            child = self._timers[key] = self._metrics.request_seconds.labels(*key)
        return child


class _Counted:
    """A stream that counts as one watcher for as long as it is open."""

    def __init__(self, stream: Stream, gauge: Gauge) -> None:
        self._stream = stream
        self._gauge: Gauge | None = gauge
        gauge.inc()

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The chunks of the stream itself."""
        return aiter(self._stream)

    async def aclose(self) -> None:
        """Close the stream. May be called twice."""
        if self._gauge is not None:
            self._gauge.dec()
            self._gauge = None
        await self._stream.aclose()
