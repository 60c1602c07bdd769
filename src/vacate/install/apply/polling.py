"""Waiting for what an API server does not announce, and for one that is busy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from vacate.clock import Clock
from vacate.errors import TRANSIENT_ERRORS, ConfigError

T = TypeVar("T")

SECONDS = 60.0
_PAUSE = 0.2
_BUSY_PAUSE = 1.0


async def wait_until(holds: Callable[[], Awaitable[bool]], clock: Clock, otherwise: str) -> None:
    """Ask again and again, for a minute; then say what is the matter."""
    end = clock.monotonic() + SECONDS
    while not await holds():
        if clock.monotonic() > end:
            raise ConfigError(f"{otherwise}, after {SECONDS:.0f} s")
        await clock.sleep(_PAUSE)


async def answer_of(ask: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """What is asked, and may be asked again, of a server that may be away or busy for a minute."""
    end = clock.monotonic() + SECONDS
    while True:
        try:
            return await ask()
        except TRANSIENT_ERRORS:
            if clock.monotonic() > end:
                raise
        await clock.sleep(_BUSY_PAUSE)
