"""Metrics of open requests. They name no pod: readers of metrics are not authorized to list pods.

Names of interceptors and requesters are of users' choosing: only the most frequent have a series of their
own, so that nobody can make a scrape as long as they like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.metrics_core import Metric

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.reader import Reader
from vacate.controllers.eviction.attempts import failures
from vacate.eviction.dialects.turn_conditions import has_ended
from vacate.eviction.records.reader import assigned
from vacate.metrics import LazyFamily, Point

MAX_NAMES = 50
OTHERS = "other"


class RequestTotals:
    """A collector over the requests that are not complete."""

    def __init__(self, requests: Reader[EvictionRequest], prefix: str = "vacate") -> None:
        self._requests = requests
        self._prefix = prefix  # of the names of its series

    def collect(self) -> Iterator[Metric]:
        """All families, from one pass over the cache, which the first of them makes step by step."""
        totals, prefix = _Totals(self._requests.list()), self._prefix
        yield _Family(
            f"{prefix}_open_requests", "Eviction requests that are not complete.", totals, lambda: totals.open
        )
        yield _Family(
            f"{prefix}_refused_requests", "Those whose eviction was refused.", totals, lambda: totals.refused
        )
        yield _Family(
            f"{prefix}_most_refusals",
            "Refusals of the one refused most often.",
            totals,
            lambda: totals.most_refusals,
        )
        yield _Family(
            f"{prefix}_requester_requests",
            "Open requests, by requester.",
            totals,
            lambda: _frequent(totals.requesters),
            "requester",
        )
        yield _Family(
            f"{prefix}_interceptor_turns",
            "Pods with which an interceptor is busy.",
            totals,
            lambda: _frequent(totals.turns),
            "interceptor",
        )
        yield _Family(
            f"{prefix}_interceptor_oldest_turn_seconds",
            "When the oldest turn that is under way began, in seconds since 1970.",
            totals,
            lambda: _oldest(totals.began, _frequent(totals.turns)),
            "interceptor",
        )


@dataclass
class _Totals:
    """What has been counted so far."""

    requests: Iterable[EvictionRequest]
    open: int = 0
    refused: int = 0
    most_refusals: int = 0
    requesters: Counter[str] = field(default_factory=Counter)
    turns: Counter[str] = field(default_factory=Counter)
    began: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left = iter(self.requests)

    def count(self) -> Iterator[None]:
        """Go on where the count stands, one request a step: a hundred thousand of them take seconds."""
        for request in self._left:
            if not request.complete:
                self._add(request)
            yield

    def _add(self, request: EvictionRequest) -> None:
        self.open += 1
        refusals = failures(request)
        self.refused += bool(refusals)
        self.most_refusals = max(self.most_refusals, refusals)
        self.requesters.update({one.name for one in request.spec.requesters})
        active, turn = request.status.active_interceptor_name, assigned(request)
        # One whose turn has ended is only waiting to be relieved: nothing about it is late.
        if not active or has_ended(request):
            return
        self.turns[active] += 1
        if turn is not None and turn.last_transition_time is not None:
            began = turn.last_transition_time.timestamp()
            self.began[active] = min(began, self.began.get(active, began))


def _frequent(counts: Counter[str]) -> dict[str, float]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    found: dict[str, float] = dict(ordered[:MAX_NAMES])
    rest = sum(count for _, count in ordered[MAX_NAMES:])
    return {**found, OTHERS: rest} if rest else found


def _oldest(began: Mapping[str, float], kept: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, moment in began.items():
        shown = name if name in kept else OTHERS
        found[shown] = min(moment, found.get(shown, moment))
    return found


class _Family(LazyFamily):
    """Series that are there when everything has been counted."""

    def __init__(
        self,
        name: str,
        text: str,
        totals: _Totals,
        values: Callable[[], float | Mapping[str, float]],
        label: str = "",
    ) -> None:
        super().__init__(name, text, "gauge", self._counted)
        self._totals = totals
        self._values = values
        self._label = label

    def lines(self) -> Iterator[str]:
        """An empty one for each step of the count, so that others have a turn meanwhile."""
        for _ in self._totals.count():
            yield ""
        yield from super().lines()

    def _counted(self) -> Iterator[Point]:
        for _ in self._totals.count():
            pass
        values = self._values()
        if not isinstance(values, Mapping):
            yield (), float(values)
            return
        for name, value in values.items():
            yield ((self._label, name),), float(value)
