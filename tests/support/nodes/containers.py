"""A process runtime in a folder of a test, which must leave nothing behind: no process, mount or cgroup."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from vacate.nodeagent.runtime.process import ProcessRuntime
from vacate.nodeagent.runtime.protocol import ContainerSpec, ContainerState

ENV = {"PATH": os.environ["PATH"]}


def spec(folder: Path, script: str, name: str = "c", **more: object) -> ContainerSpec:
    """A container that runs a shell script."""
    own = folder / f"{name}.d"
    own.mkdir(parents=True, exist_ok=True)
    return ContainerSpec(name, ["sh", "-c", script], ENV, own, folder / f"{name}.log", **more)  # type: ignore[arg-type]


async def logged(folder: Path, text: str, name: str = "c") -> None:
    """Return when the container has printed the text."""
    while text not in (folder / f"{name}.log").read_text():  # noqa: ASYNC110  a file tells nobody
        await asyncio.sleep(0.01)


def processes_of(folder: Path) -> list[int]:
    """Living processes that mention the folder in their command line, environment or working folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            texts = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            texts += os.fsencode((entry / "cwd").readlink())
            if str(folder).encode() in texts:
                found.append(int(entry.name))
    return found


@contextlib.asynccontextmanager
async def opened(folder: Path, **more: Any) -> AsyncIterator[tuple[ProcessRuntime, list[ContainerState]]]:
    """A runtime on the folder, and what it finds there."""
    runtime = ProcessRuntime(folder / "runtime", **more)
    try:
        yield runtime, await runtime.open(lambda _: None)
    finally:
        await runtime.aclose()


async def clean(folder: Path) -> None:
    """End what a failed test left, and fail where something had to be ended."""
    for _ in range(600):  # a minute: on a busy machine the end of a process takes its time
        if not processes_of(folder):
            break
        await asyncio.sleep(0.1)
    left = processes_of(folder)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left
    _check_nothing_is_left(folder)


def _check_nothing_is_left(folder: Path) -> None:
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()
    runtime = ProcessRuntime(folder / "runtime")
    assert not runtime.cgroup or not Path(runtime.cgroup).exists()


def exit_code(state: ContainerState) -> int | None:
    """How the run ended; fails where it has not."""
    assert state.exit is not None
    return state.exit.code
