"""One pod, one request: while one goes on, none of another API comes into being for the same pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from vacate.sim.invariants.history import RequestHistory

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
