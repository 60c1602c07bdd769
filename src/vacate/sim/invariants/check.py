"""All invariants in one call."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import permutations

from vacate.sim.auditlog import RecordedRequest
from vacate.sim.invariants.completion import completion_breaches
from vacate.sim.invariants.evictions import eviction_breaches
from vacate.sim.invariants.history import Place, RequestHistory
from vacate.sim.invariants.turns import turn_breaches

MAX_WRITES_PER_SECOND = 24
"""Writes of one request in one second: so many come only from writers that undo each other's work.

A whole eviction with two turns that takes less than a second has fourteen, with two managers at once."""


def storms(history: RequestHistory) -> Iterator[str]:
    """Requests that were written without end, each reported once."""
    recent: dict[Place, list[float]] = {}
    reported: dict[Place, None] = {}
    for step in history.steps:
        times = recent.setdefault(step.place, [])
        times.append(step.at)
        del times[:-MAX_WRITES_PER_SECOND]
        if len(times) == MAX_WRITES_PER_SECOND and times[-1] - times[0] < 1.0 and step.place not in reported:
            reported[step.place] = None
            yield f"{step}: {MAX_WRITES_PER_SECOND} writes in a second"


def breaches(
    histories: Sequence[RequestHistory], heard: Iterable[RecordedRequest], controllers: Container[str]
) -> Iterator[str]:
    """Everything that went against the rules, in words, from the whole history of a server, by API."""
    for history in histories:
        for step in history.steps:
            for reported in (*turn_breaches(step), *completion_breaches(step)):
                yield f"{step}: {reported}"
        yield from storms(history)
    yield from second_requests(histories)
    yield from eviction_breaches(heard, histories, controllers)


CREATION_RACE_SECONDS = 1.0
"""Seconds: requests that are created within one moment may miss each other."""


def second_requests(histories: Sequence[RequestHistory]) -> Iterator[str]:
    """Requests that were created although another went on for the same pod by another API."""
    for new, other in permutations(histories, 2):
        for step in new.steps:
            if step.before is not None or step.after is None:
                continue
            seen = list(other.during(step.place, step.at - CREATION_RACE_SECONDS, step.at))
            if all(one is not None and not one.request.complete for one in seen):
                kinds = f"{new.dialect.kind.kind} was created while its {other.dialect.kind.kind} went on"
                yield f"{step}: an {kinds}"
