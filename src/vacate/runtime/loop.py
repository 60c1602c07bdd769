"""Which event loop a program runs on: uvloop where that is installed, since each request costs less on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Makes the loop, for `asyncio.Runner`; None for the one of the standard library."""
    try:
        import uvloop  # noqa: PLC0415  an optional extra
    except ImportError:
        return None
    return uvloop.new_event_loop
