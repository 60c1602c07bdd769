"""Whether changes still arrive, and what is printed when they do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from vacate.api.times import format_time
from vacate.cli.common import terminal
from vacate.cli.common.remedies import reason
from vacate.clock import Clock
from vacate.errors import VacateError

FOUND = "The connection is back."


class ChangeSource(Protocol):
    """What follows objects, such as an informer."""

    @property
    def trouble(self) -> VacateError | None:
        """Why the last attempt failed; None while changes arrive."""


class Outage:
    """The state of the connection, as the informers know it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.text = ""  # what is shown at the moment; empty while changes arrive

    def check(self, followed: Sequence[ChangeSource]) -> bool:
        """Look anew; whether the connection was lost or found since the last time."""
        trouble = next((one.trouble for one in followed if one.trouble is not None), None)
        before, self.text = bool(self.text), ""
        if trouble is not None:
            why = reason(trouble).partition("; ")[0] or str(trouble)
            self.text = f"The connection is lost, trying again; what is shown may be old: {why}"
        return bool(self.text) != before

    def report(self, followed: Sequence[ChangeSource]) -> None:
        """Look anew, and say on standard error what has changed."""
        if self.check(followed):
            terminal.echo(f"{format_time(self._clock.now())} {self.text or FOUND}", err=True)
