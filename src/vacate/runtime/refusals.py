"""Writes that the API server refuses: for as long as that is so, an Event and a message say it.

A refusal is tried again like any other error, and so may last for ever: an admission policy, a webhook of
others, a right that is missing. Users who wait for the write must be able to see why.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterator
from typing import Any, Protocol

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import Kind
from vacate.api.text import plain
from vacate.api.types import ObjectMeta
from vacate.errors import ApiError
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.refusedwrites import WriteRefusal

REASON = "WriteRefused"
REFUSES = "The API server refuses what Vacate writes for it; it is tried again: "
"""What the message of the Event begins with; the answer of the API server follows."""
ACCEPTED = "WriteAccepted"
"""The reason of the Event that ends one of the other."""
_MAX_MESSAGE = 600

REPEATED = dt.timedelta(minutes=10)
"""How often the Event of a refusal that lasts is written: API servers keep Events for an hour."""


class _Object(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


class WriteRefusals:
    """What is refused to one controller at present; Events say so, and its process knows."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        # By the UID of the object that a write was for: with when the Event was written.
        self._found: dict[str, tuple[WriteRefusal, dt.datetime]] = {}

    @contextlib.contextmanager
    def reported(self, kind: Kind, obj: _Object) -> Iterator[None]:
        """Writes for this object, each refusal of which is reported and raised on."""
        try:
            yield
        except ApiError as error:
            if error.is_refusal:
                self.note(kind, obj, error)
            raise
        self.forget(kind, obj)

    def forget(self, kind: Kind, obj: _Object, *, gone: bool = False) -> None:
        """Nothing is refused for this object any more, or it is gone."""
        if self._found.pop(obj.metadata.uid, None) is None:
            return
        self._deps.refusals.put(self, obj, None)
        if not gone:
            message = "The API server takes again what Vacate writes for it."
            self._deps.recorder.record(EventNote(regarding(kind, obj), NORMAL, ACCEPTED, message))

    def note(self, kind: Kind, obj: Any, error: ApiError) -> None:
        """The last attempt for this object was refused."""
        message = plain(str(error), _MAX_MESSAGE)
        now = self._deps.clock.now()
        before, noted = self._found.get(obj.metadata.uid, (None, now))
        if before is not None and before.message == message and abs(now - noted) < REPEATED:
            return
        found = WriteRefusal(before.since if before else now, message)
        self._found[obj.metadata.uid] = found, now
        self._deps.refusals.put(self, obj, found)
        note = EventNote(regarding(kind, obj), WARNING, REASON, f"{REFUSES}{message}")
        self._deps.recorder.record(note)
