"""Who goes first when a disruption budget opens."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

K = TypeVar("K")


class Waiting(NamedTuple):
    """A request that waits for its next attempt."""

    created: dt.datetime
    namespace: str
    name: str


def first_in_line(waiting: Iterable[Waiting], allowed: int) -> list[Waiting]:
    """As many as the budget allows, the oldest first: more would only be refused and wait longer."""
    return sorted(waiting)[: max(allowed, 0)]
