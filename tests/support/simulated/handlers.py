"""Handlers of interceptors for tests of turns."""

from __future__ import annotations

import asyncio

from vacate.sdk import EvictionContext


class RecordingHandler:
    """A handler that works for an hour, and what it went through."""

    def __init__(self, clean_up: float = 0.0) -> None:
        self.lines: list[str] = []
        self._clean_up = clean_up

    async def __call__(self, turn: EvictionContext) -> None:
        self.lines.append("resumed" if turn.resumed else "began")
        try:
            await turn.report("Working")
            await turn.clock.sleep(3600)
        except asyncio.CancelledError:
            assert turn.end_reason is not None
            await turn.clock.sleep(self._clean_up)
            self.lines.append(turn.end_reason.name)
            raise
        self.lines.append("ended")
