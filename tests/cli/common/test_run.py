"""What ends at a signal, and what is reported where that takes long."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

import pytest

from vacate.cli.common import run
from vacate.cli.common.run import run_until_signalled


async def test_where_a_task_waits_is_the_innermost_call() -> None:
    never = asyncio.Event()

    async def inner() -> None:
        await never.wait()

    async def outer() -> None:
        await inner()

    task = asyncio.create_task(outer())
    await asyncio.sleep(0)
    assert run._place(task).startswith("Event.wait:")
    task.cancel()


def test_a_stop_that_takes_long_says_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(run, "SLOW_STOP_SECONDS", 0.05)

    async def stubborn() -> None:
        reported = asyncio.Event()

        def warning(text: str, *values: object) -> None:
            lines.append(text % values)
            reported.set()

        monkeypatch.setattr(run.log, "warning", warning)
        os.kill(os.getpid(), signal.SIGTERM)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await reported.wait()

    assert run_until_signalled(stubborn)
    (line,) = lines
    assert line.startswith("not stopped after 0.05 seconds; a second signal ends the process at once. ")
    assert "Event.wait:" in line
