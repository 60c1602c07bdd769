"""Tasks in the background, and tasks that must finish though the one who waits for them is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class TaskSet(set[asyncio.Task[None]]):
    """What is under way for an owner, who may cancel it."""

    def spawn(self, work: Coroutine[Any, Any, None], name: str | None = None) -> asyncio.Task[None]:
        """Run work in the background."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self.add(task)
        task.add_done_callback(self.discard)
        return task

    async def cancel(self) -> None:
        """Return when everything has ended."""
        tasks = list(self)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


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
