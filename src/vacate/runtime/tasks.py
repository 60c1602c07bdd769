"""Tasks that must finish, also where the one who waits for them is cancelled; and calls that may be slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN_SECONDS = 5.0
"""How often something is asked once more while it does not answer."""


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


async def first_answer(ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The first answer or error. While there is none, ask anew without giving up what was asked before.

    So a slow server has all the time that there is, and a lost connection costs little of it.
    """
    asked = set[asyncio.Task[T]]()
    try:
        while True:
            asked.add(asyncio.get_running_loop().create_task(ask()))
            done, _ = await asyncio.wait(asked, timeout=AGAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return done.pop().result()
    finally:
        for one in asked:
            one.cancel()
        await asyncio.wait(asked)
