"""Tasks that must finish, also where the one who waits for them is cancelled."""

from __future__ import annotations

import asyncio


async def finish(task: asyncio.Task[None]) -> None:
    """Wait for it, also when this is cancelled meanwhile: a second cancellation must leave nothing behind."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
