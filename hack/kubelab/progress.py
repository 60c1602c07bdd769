"""How far a build is, for people: a line that moves on a terminal, a few lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

QUIET_SECONDS = 20.0


class Progress:
    """Counts steps of work. Standard error is for it, so that standard output stays for the answer."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._started = time.monotonic()
        self._shown = -QUIET_SECONDS

    def say(self, text: str) -> None:
        """A line that stays."""
        self._write(f"{text}\n")

    def step(self, title: str, done: int, total: int = 0) -> None:
        """Something was done; shown at once on a terminal, now and then elsewhere."""
        now = time.monotonic()
        interval = 0.1 if self._live else QUIET_SECONDS
        if now - self._shown < interval:
            return
        self._shown = now
        of = f" of {total} ({100 * done // total} %)" if total else ""
        text = f"  {title} {done}{of}, {now - self._started:.0f} s"
        self._write(f"{text}\x1b[K\r" if self._live else f"{text}\n")

    def _write(self, text: str) -> None:
        if self._live and text.endswith("\n"):
            text = f"\r\x1b[K{text}"
        self._stream.write(text)
        self._stream.flush()
