"""When has an event been told long enough?"""

from __future__ import annotations

import datetime as dt

from vacate.api.types import Event

LIFETIME = dt.timedelta(hours=1)
"""As long as kube-apiserver keeps events by default."""


def expires_at(event: Event) -> dt.datetime | None:
    """An hour after it was last seen; None for an event without any time, which nobody can judge."""
    meta = event.metadata
    seen = [one for one in (meta.creation_timestamp, event.last_timestamp, event.event_time) if one]
    return max(seen) + LIFETIME if seen else None
