"""Runs a coroutine until it ends or a signal asks it to; on uvloop where that is installed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from vacate.runtime.loop import loop_factory

Work = Callable[[], Coroutine[Any, Any, None]]
log = logging.getLogger(__name__)

SLOW_STOP_SECONDS = 15.0
"""After so long a stop says what it waits for: the longest that a component waits by design is ten."""


def run_until_signalled(work: Work) -> bool:
    """Cancel the work on SIGINT or SIGTERM and return once it has cleaned up. A second one does not wait.

    True where a signal ended it.
    """
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_supervised(work))


async def _supervised(work: Work) -> bool:
    loop = asyncio.get_running_loop()
    task = loop.create_task(work())
    asked = False

    def ask() -> None:
        nonlocal asked
        asked = True
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)  # the next one ends the process as signals do
        task.cancel()
        loop.call_later(SLOW_STOP_SECONDS, _report_slow_stop)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask)
    with contextlib.suppress(asyncio.CancelledError):
        try:
            await task
        except BaseExceptionGroup as group:
            raise _first(group) from group
    if not asked and task.cancelled():
        raise RuntimeError("the work was cancelled by itself")
    return asked


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first failure of a task group: one reason is easier to read than a tree of them."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _report_slow_stop() -> None:
    waiting = "; ".join(f"{one.get_name()} at {_place(one)}" for one in asyncio.all_tasks())
    log.warning(
        "not stopped after %g seconds; a second signal ends the process at once. Tasks: %s",
        SLOW_STOP_SECONDS, waiting,
    )  # fmt: skip


def _place(task: asyncio.Task[Any]) -> str:
    """Where in the code the task waits, inside everything that it awaits."""
    at: Any = task.get_coro()
    while (inner := getattr(at, "cr_await", None)) is not None and hasattr(inner, "cr_frame"):
        at = inner
    frame = getattr(at, "cr_frame", None)
    return f"{frame.f_code.co_qualname}:{frame.f_lineno}" if frame is not None else repr(at)
