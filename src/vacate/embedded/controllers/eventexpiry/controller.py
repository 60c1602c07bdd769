"""The expiry of events, which the real server leaves to leases of etcd, done through the API."""

from __future__ import annotations

import contextlib
import datetime as dt

from vacate.api.kinds import EVENTS
from vacate.api.options import DeleteOptions
from vacate.api.times import after
from vacate.api.types import Event
from vacate.errors import NotFound
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by events and by the end of their hour."""
    events = deps.informers.informer(EVENTS, Event)
    return Controller("event-expiry", EventExpiry(deps), [Source(events)], deps)


class EventExpiry:
    """Deletes one event when its time has come."""

    def __init__(self, deps: Dependencies) -> None:
        self._client = deps.client
        self._clock = deps.clock
        self._events = deps.informers.informer(EVENTS, Event).reader

    async def reconcile(self, key: Key) -> Outcome:
        """Look at one event."""
        event = self._events.get(key.namespace, key.name)
        now = self._clock.now()
        end = None if event is None else expires_at(event, now)
        if event is None or end is None:
            return Done()
        if now < end:
            return Later(end)
        meta = event.metadata
        with contextlib.suppress(NotFound):
            # One that was seen again in the meantime has another version, and another hour.
            await self._client.delete(
                EVENTS,
                key.name,
                key.namespace,
                DeleteOptions(uid=meta.uid, resource_version=meta.resource_version),
            )
        return Done()


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
