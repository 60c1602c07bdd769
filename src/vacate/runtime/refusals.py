"""Writes that the API server refuses: for as long as that is so, an Event and a message say it.

A refusal is tried again like any other error, and so may last for ever: an admission policy, a webhook of
others, a right that is missing. Users who wait for the write must be able to see why.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from vacate.api.events import WARNING, EventNote, regarding
from vacate.api.kinds import Kind
from vacate.api.text import plain
from vacate.api.types import ObjectMeta
from vacate.errors import ApiError
from vacate.runtime.dependencies import Deps

REASON = "WriteRefused"
REFUSES = "The API server refuses what Vacate writes for it; it is tried again: "
"""What the message of the Event begins with; the answer of the API server follows."""
_MAX_MESSAGE = 600


class _Object(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


@dataclass(frozen=True, slots=True)
class WriteRefusal:
    """What is refused about an object, and since when."""

    since: dt.datetime
    message: str


class WriteRefusals:
    """What is refused at present, by the UID of the object that a write was for."""

    def __init__(self, deps: Deps) -> None:
        self.informers = deps.informers
        self._deps = deps
        self._found: dict[str, WriteRefusal] = {}

    @contextlib.contextmanager
    def reported(self, kind: Kind, obj: _Object) -> Iterator[None]:
        """Writes for this object, each refusal of which is reported and raised on."""
        try:
            yield
        except ApiError as error:
            if error.is_refusal:
                self.note(kind, obj, error)
            raise
        self.forget(obj)

    def of(self, uid: str) -> WriteRefusal | None:
        """The refusal of the last attempt; None where it was not refused."""
        return self._found.get(uid)

    def forget(self, obj: _Object) -> None:
        """Nothing is refused for this object any more."""
        self._found.pop(obj.metadata.uid, None)

    def note(self, kind: Kind, obj: Any, error: ApiError) -> None:
        """The last attempt for this object was refused."""
        message = plain(str(error), _MAX_MESSAGE)
        before = self._found.get(obj.metadata.uid)
        now = self._deps.clock.now()
        self._found[obj.metadata.uid] = WriteRefusal(before.since if before else now, message)
        if before is None or before.message != message:
            note = EventNote(regarding(kind, obj), WARNING, REASON, f"{REFUSES}{message}")
            self._deps.recorder.record(note)
