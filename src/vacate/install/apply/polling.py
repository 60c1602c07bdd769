"""Waiting for what an API server does not announce."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from vacate.clock import Clock
from vacate.errors import ConfigError

SECONDS = 60.0
_PAUSE = 0.2


async def wait_until(holds: Callable[[], Awaitable[bool]], clock: Clock, otherwise: str) -> None:
    """Ask again and again, for a minute; then say what is the matter."""
    end = clock.monotonic() + SECONDS
    while not await holds():
        if clock.monotonic() > end:
            raise ConfigError(f"{otherwise}, after {SECONDS:.0f} s")
        await clock.sleep(_PAUSE)
