"""The contract between controllers and the machinery that runs them.

A reconciler gets a key and nothing about what happened: it reads the present state, brings the world one step
closer to what is wanted, and says when to come back. Called twice in a row it writes once. What an error
means is decided in `vacate.runtime.controller`, for all reconcilers alike.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from vacate.errors import VacateError


class Key(NamedTuple):
    """Which object to look at. The namespace is empty for cluster-wide kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing more to do until something changes."""


@dataclass(frozen=True, slots=True)
class Later:
    """Look again at this moment, or earlier if something changes."""

    at: dt.datetime


Outcome = Done | Later

MAX_RETRY_SECONDS = 15.0
"""What failed or was refused is tried again after at most so long, though nothing has changed that a watch
could show: the cause may have been removed where no watch looks, such as in a policy or a webhook."""

EARLY_SECONDS = 0.001
"""By how much a key may come back before its moment, which has whole microseconds, and is still on time."""


class Terminal(VacateError):
    """Trying again cannot help; wait until something changes."""


class Reconciler(Protocol):
    """Brings one object one step closer to what is wanted."""

    async def reconcile(self, key: Key) -> Outcome:
        """Look at the object and act.

        `Done` and `Later` end a row of failures. A `Conflict` is retried without a word, a `Terminal` never,
        anything else with backoff, up to `MAX_RETRY_SECONDS`, and a line in the log. What was refused and
        caught is asked for again: such a reconciler returns `Later`, and never `Done`.
        """
        ...
