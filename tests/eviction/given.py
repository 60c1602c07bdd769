"""One process in the middle of its life, and small hands to say what is different about it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.eviction.model import DecisionContext, EvictionState, Target, Termination

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=dt.UTC)
DEADLINE = dt.timedelta(seconds=1800)
LONG_AGO = NOW - dt.timedelta(days=2)
FIRST, SECOND, LAST = "first.example.com", "second.example.com", "last.example.com"


def ago(**units: float) -> dt.datetime:
    return NOW - dt.timedelta(**units)


def ahead(**units: float) -> dt.datetime:
    return NOW + dt.timedelta(**units)


def process(*interceptors: str, **changes: Any) -> EvictionState:
    """A request that someone wants, created two hours ago; everything else as given."""
    given: dict[str, Any] = {
        "interceptors": interceptors,
        "requesters": ("drain.example.com",),
        "deadline": DEADLINE,
        "created": ago(hours=2),
    }
    return EvictionState(**(given | changes))


def chain(**changes: Any) -> EvictionState:
    """The same with three interceptors, the first of them at work."""
    return process(FIRST, SECOND, LAST, **({"active": FIRST, "heartbeat": ago(minutes=1)} | changes))


def moment(now: dt.datetime = NOW, **changes: Any) -> DecisionContext:
    """A decider that has listened for days."""
    return DecisionContext(**({"now": now, "watching_since": LONG_AGO} | changes))


def terminating_target(**units: float) -> Target:
    """A target whose grace ends that far ahead."""
    return Target(termination=Termination(ahead(**units), node="node-1"))
