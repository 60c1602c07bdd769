"""When an Event expires."""

from __future__ import annotations

import datetime as dt

from vacate.api.times import after
from vacate.api.types import Event

LIFETIME = dt.timedelta(hours=1)
"""As long as kube-apiserver keeps events by default."""


def expires_at(event: Event, now: dt.datetime) -> dt.datetime | None:
    """An hour after it was last seen; None for an event without any time, whose age is unknown.

    A client may date its event as it likes. Nothing was seen in the future: such a time does not
    count, so that an event of the year 9999 goes as others do.
    """
    meta = event.metadata
    seen = [one for one in (meta.creation_timestamp, event.last_timestamp, event.event_time) if one]
    past = [one for one in seen if one <= now] or seen
    return after(max(past), LIFETIME) if past else None
