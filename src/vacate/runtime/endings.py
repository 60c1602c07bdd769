"""Awaits work to its end, also while the caller is cancelled."""

from __future__ import annotations

import asyncio


async def to_its_end(task: asyncio.Task[None]) -> None:
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
