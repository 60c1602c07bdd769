"""Runs a fence agent as a process, bounded in time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from vacate.api.text import plain
from vacate.errors import ConfigError
from vacate.fencing.agentprotocol import (
    OFF,
    ON,
    STATUS,
    PowerState,
    power_state,
    redacted,
    standard_input,
)
from vacate.fencing.agents import Answer

_NAME = re.compile(r"fence_[a-z0-9_]{1,60}")
_PLACES = "/usr/sbin:/sbin:/usr/local/sbin"
_TIMED_OUT, _NOT_STARTED = -1, 127  # as a shell says it
_MAX_OUTPUT = 2000
_KEPT = 65_536


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How a call of the agent ended."""

    code: int
    output: str

    @property
    def message(self) -> str:
        """The end of what it printed, on one line, for messages."""
        return plain(self.output)[-300:] or "no output"


@dataclass(frozen=True, slots=True)
class FenceAgent:
    """A program that speaks the protocol, with the options of one machine."""

    program: str
    options: Mapping[str, str] = field(repr=False)
    timeout: float = 60.0
    hidden: frozenset[str] = frozenset()  # options that came from a Secret

    async def call(self, action: str) -> AgentResult:
        """Run the agent once. One that does not end in time is killed with all of its children."""
        with contextlib.ExitStack() as pipes:
            (their_input, given), (output, their_output) = _pipe(pipes), _pipe(pipes)
            try:
                process = await asyncio.create_subprocess_exec(
                    self.program,
                    stdin=their_input,
                    stdout=their_output,
                    stderr=asyncio.subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                return AgentResult(_NOT_STARTED, f"{self.program} cannot be started: {error.strerror}")
            their_input.close()
            their_output.close()
            try:
                async with asyncio.timeout(self.timeout):
                    printed = await _converse(standard_input(self.options, action), given, output)
                    code = await process.wait()
            except TimeoutError:
                return AgentResult(_TIMED_OUT, f"no answer within {self.timeout:g} s")
            finally:
                await _end(process)
        text = redacted(printed.decode(errors="replace"), self.options, self.hidden)
        return AgentResult(code, text[-_MAX_OUTPUT:])

    async def off(self) -> Answer:
        """Switch the machine off, as far as the agent says; `status` reads it back."""
        return await self._answer(OFF)

    async def on(self) -> Answer:
        """Switch the machine on, as far as the agent says."""
        return await self._answer(ON)

    async def status(self) -> Answer:
        """The state of the machine, in a call of its own."""
        state, result = await self.power()
        return Answer(state is not PowerState.UNKNOWN, state, result.message)

    async def _answer(self, action: str) -> Answer:
        result = await self.call(action)
        return Answer(result.code == 0, PowerState.UNKNOWN, result.message)

    async def power(self) -> tuple[PowerState, AgentResult]:
        """Ask for the state of the machine."""
        result = await self.call(STATUS)
        return power_state(result.code), result


def _pipe(pipes: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Both ends of a pipe of our own, to be read from and written to.

    Pipes of asyncio will not do. It waits until they are closed before it says that the process has ended,
    and a child may keep one open, or have filled it. And uvloop closes those of a process that has ended by
    their number, some time later, when the number may be that of another file.
    """
    reader, writer = os.pipe()
    return (
        pipes.enter_context(os.fdopen(reader, "rb", buffering=0)),
        pipes.enter_context(os.fdopen(writer, "wb", buffering=0)),
    )


async def _converse(options: bytes, given: IO[bytes], output: IO[bytes]) -> bytes:
    """Hand over the options, and read until the last of its processes has closed the output."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_feed(options, given))
        printed = group.create_task(_last_of(output))
    return printed.result()


async def _feed(options: bytes, given: IO[bytes]) -> None:
    loop, writable = asyncio.get_running_loop(), asyncio.Event()
    os.set_blocking(given.fileno(), False)
    loop.add_writer(given.fileno(), writable.set)
    try:
        while options:
            await writable.wait()
            writable.clear()
            options = options[given.write(options) or 0 :]
    except BrokenPipeError:
        pass  # it ended without reading
    finally:
        loop.remove_writer(given.fileno())
        given.close()


async def _last_of(output: IO[bytes]) -> bytes:
    """The end of what is printed, where the reason stands; more is read than is kept."""
    loop, readable, kept = asyncio.get_running_loop(), asyncio.Event(), b""
    os.set_blocking(output.fileno(), False)
    loop.add_reader(output.fileno(), readable.set)
    try:
        while True:
            await readable.wait()
            readable.clear()
            with contextlib.suppress(BlockingIOError):
                if not (chunk := os.read(output.fileno(), _KEPT)):
                    return kept
                kept = (kept + chunk)[-_KEPT:]
    finally:
        loop.remove_reader(output.fileno())


async def _end(process: asyncio.subprocess.Process) -> None:
    """With all of its children, also after it has ended: one that it left could act later."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def find_program(name: str, *, field: str = "--agent") -> str:
    """The path of an agent by its name, or an absolute path; ConfigError where there is none."""
    if os.sep in name:
        path = Path(name)
        if path.is_absolute() and os.access(path, os.X_OK) and path.is_file():
            return name
        raise ConfigError(
            f"{field}: {name} is not a program; name one such as fence_redfish, or its full path"
        )
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{field}: {name[:80]!r} is not the name of a fence agent, such as fence_redfish")
    found = shutil.which(name) or shutil.which(name, path=_PLACES)
    if found is None:
        raise ConfigError(f"{field}: {name} is not installed; on Debian it is in the package fence-agents")
    return found
