"""Events as values, and the recorder that writes them.

A controller returns or records an `EventNote`; the recorder counts repeats instead of writing them anew,
limits how much one object may cause, and drops under pressure rather than holding anybody up.
"""

from __future__ import annotations

from typing import Protocol

from vacate.api.events import EventNote


class Recorder(Protocol):
    """Takes notes. Never waits and never fails."""

    def record(self, note: EventNote) -> None:
        """Write the note down soon, or drop it under pressure."""
        ...
