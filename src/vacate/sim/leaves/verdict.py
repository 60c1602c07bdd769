"""All judges in one call."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from vacate.sim.audit import Heard
from vacate.sim.leaves.chronicle import Chronicle, History
from vacate.sim.leaves.endings import ending_breaches
from vacate.sim.leaves.evictions import eviction_breaches
from vacate.sim.leaves.turns import turn_breaches


def breaches(history: History, heard: Iterable[Heard], controllers: Container[str]) -> Iterator[str]:
    """Everything that went against the rules, in words, from the whole history of a server."""
    chronicle = Chronicle(history)
    for step in chronicle.steps:
        for told in (*turn_breaches(step), *ending_breaches(step)):
            yield f"{step}: {told}"
    yield from eviction_breaches(heard, chronicle, controllers)
