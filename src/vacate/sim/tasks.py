"""Tasks in words: who waits, and where."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any


def describe(tasks: Iterable[asyncio.Task[Any]]) -> str:
    """One line for each task: its name, its coroutine and the line at which it stands."""
    lines = [f"  {task.get_name()}: {_coroutine(task)}{_place(task)}" for task in tasks]
    return "\n".join(lines) if lines else "  no task at all"


def _coroutine(task: asyncio.Task[Any]) -> str:
    coro = task.get_coro()
    return str(getattr(coro, "__qualname__", coro))


def _place(task: asyncio.Task[Any]) -> str:
    """The innermost frame; what a task awaits inside is more telling than where it began."""
    awaited: Any = task.get_coro()
    place = ""
    while awaited is not None:
        frame = _frame(awaited)
        if frame is not None:
            place = f" at {PurePath(frame.f_code.co_filename).name}:{frame.f_lineno}"
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None)
    return place


def _frame(awaited: Any) -> Any:
    return getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None)
