"""Every open request as series, under the names that dashboards for this API expect.

The series are made from the cache when they are asked for, one at a time: nothing is kept for them, and those
of a finished request are simply not there any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import Metric

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.reader import Reader
from vacate.controllers.eviction.attempts import failures
from vacate.eviction.dialects.base import ApiTerms
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.turn_conditions import has_ended
from vacate.eviction.records.reader import assigned
from vacate.metrics import LazyFamily, Point

_Values = Callable[[EvictionRequest], Iterator[tuple[str, str, float]]]
"""For one request: the name and value of a further label, empty where there is none, and the value."""


class OpenRequests:
    """A collector over the requests that are not complete."""

    def __init__(
        self,
        requests: Reader[EvictionRequest],
        accepted: Callable[[EvictionRequest], int],
        terms: ApiTerms = EVICTION_REQUEST.terms,
    ) -> None:
        self._terms = terms
        self._requests = requests
        self._accepted = accepted

    def collect(self) -> Iterator[Metric]:
        """The four families. A name that ends otherwise than in `_total` cannot be a counter's."""
        terms, prefix = self._terms, self._terms.controller
        yield self._family(
            f"{prefix}_evictions",
            "Evictions that were asked for, by request, pod and result.",
            "unknown",
            self._evictions,
        )
        yield self._family(
            f"{prefix}_active_{terms.interceptor}",
            f"Since when the active {terms.interceptor} has its turn.",
            "gauge",
            self._active_interceptor,
        )
        yield self._family(
            f"{prefix}_active_{terms.requester}",
            "Who requests the eviction: 1 each.",
            "gauge",
            self._requesters,
        )
        yield self._family(
            f"{prefix}_pod_{terms.interceptor}s",
            f"How many {terms.interceptor}s the pod has.",
            "gauge",
            _interceptors,
        )

    def _evictions(self, request: EvictionRequest) -> Iterator[tuple[str, str, float]]:
        for result, number in (("accepted", self._accepted(request)), ("refused", failures(request))):
            if number:
                yield "result", result, number

    def _family(self, name: str, text: str, kind: str, values: _Values) -> Metric:
        return LazyFamily(name, text, kind, lambda: self._points(values))

    def _points(self, values: _Values) -> Iterator[Point]:
        for request in self._requests.list():
            if request.complete:
                continue
            for label, text, number in values(request):
                known = self._labels(request)
                yield (*known, (label, text)) if label else known, number

    def _labels(self, request: EvictionRequest) -> tuple[tuple[str, str], ...]:
        meta = request.metadata
        return ("namespace", meta.namespace), (self._terms.request, meta.name), ("pod", request.pod_name)

    def _active_interceptor(self, request: EvictionRequest) -> Iterator[tuple[str, str, float]]:
        active, began = request.status.active_interceptor_name, assigned(request)
        if active and began is not None and began.last_transition_time is not None and not has_ended(request):
            yield self._terms.interceptor, active, began.last_transition_time.timestamp()

    def _requesters(self, request: EvictionRequest) -> Iterator[tuple[str, str, float]]:
        for one in request.spec.requesters:
            yield self._terms.requester, one.name, 1.0


def _interceptors(request: EvictionRequest) -> Iterator[tuple[str, str, float]]:
    if request.spec.interceptors:
        yield "", "", float(len(request.spec.interceptors))
