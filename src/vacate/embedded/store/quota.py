"""How many bytes of objects a store takes, so that its memory and its file are bounded.

Creations, and updates that make an object much larger, are refused above the quota. Small updates go on
within a reserve: heartbeats of nodes, the marks of a deletion and the last status of a pod make objects a
little larger, and without them nothing could be deleted. Whatever makes the total smaller is always taken.
"""

from __future__ import annotations

import logging

from vacate.embedded.store.types import Entry
from vacate.errors import StoreFull

OBJECT_BYTES = 1024
"""What an object costs beside its value: key, labels, bookkeeping."""
SMALL_GROWTH = 4 * 1024
"""By how many bytes an update may make an object larger and still use the reserve."""
RESERVE = 16
"""The reserve is the quota divided by this."""

_log = logging.getLogger(__name__)


def cost(entry: Entry) -> int:
    """The bytes that an object counts for."""
    return OBJECT_BYTES + len(entry.value)


class Quota:
    """Counts the objects of a store, writes under way included; without a limit it only counts."""

    def __init__(self, used: int = 0) -> None:
        self.used = used
        self.limit: int | None = None
        self._reported = False

    def take(self, before: Entry | None, after: Entry | None) -> None:
        """Count a write, None standing for no object; StoreFull, and nothing counts, without room."""
        growth = (cost(after) if after else 0) - (cost(before) if before else 0)
        if self.limit is not None:
            self._check(self.limit, growth, small=before is not None and growth <= SMALL_GROWTH)
        self.used += growth

    def _check(self, limit: int, growth: int, *, small: bool) -> None:
        room = limit + limit // RESERVE if small else limit
        if growth <= 0 or self.used + growth <= room:
            # Not at the first byte of room: one who writes at the limit would fill the log.
            self._reported = self._reported and self.used + growth > limit - limit // RESERVE
            return
        refusal = f"the storage is full: its objects take {self.used} bytes of a quota of {limit}"
        if not self._reported:
            self._reported = True
            _log.warning("%s; objects are not created or enlarged until some are deleted", refusal)
        raise StoreFull(refusal)
