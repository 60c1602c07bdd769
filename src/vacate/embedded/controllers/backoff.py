"""How workload controllers try again after a failure."""

from __future__ import annotations

from vacate.queue.limits import Backoff
from vacate.runtime.reconcile import Key

MAX_PAUSE = 30.0


def retry_backoff() -> Backoff[Key]:
    """Doubling as usual, up to half a minute: after an outage a small cluster should be itself again soon."""
    return Backoff(longest=MAX_PAUSE)
