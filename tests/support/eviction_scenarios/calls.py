"""When interceptors worked on which request: nobody may be called twice for one turn side by side."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Calls:
    """The calls of one life of a process."""

    def __init__(self, process: str, breaches: list[str]) -> None:
        self._process = process
        self._breaches = breaches
        self._open: dict[tuple[str, str], int] = {}

    @contextlib.contextmanager
    def note(self, interceptor: str, uid: str) -> Iterator[None]:
        """One call, from its beginning to its end."""
        turn = (interceptor, uid)
        self._open[turn] = self._open.get(turn, 0) + 1
        if self._open[turn] > 1:
            self._breaches.append(f"{self._process}: called twice side by side for request {uid}")
        try:
            yield
        finally:
            self._open[turn] -= 1
