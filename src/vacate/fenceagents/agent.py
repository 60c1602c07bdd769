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
_TIMED_OUT = -1
_LONGEST_OUTPUT = 2000
_KEPT = 65_536


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How a call of the agent ended."""

    code: int
    output: str

    @property
    def said(self) -> str:
        """The end of what it printed, on one line, for messages."""
        return " ".join(self.output.split())[-300:] or "no output"


@dataclass(frozen=True, slots=True)
class FenceAgent:
    """A program that speaks the protocol, with the options of one machine."""

    program: str
    options: Mapping[str, str] = field(repr=False)
    timeout: float = 60.0
    hidden: frozenset[str] = frozenset()  # options that came from a Secret

    async def call(self, action: str) -> AgentResult:
        """Run the agent once. One that does not end in time is killed with all of its children."""
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb", buffering=0) as output:
            try:
                process = await asyncio.create_subprocess_exec(
                    self.program,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=writer,
                    stderr=asyncio.subprocess.STDOUT,
                    start_new_session=True,
                )
            finally:
                os.close(writer)
            try:
                async with asyncio.timeout(self.timeout):
                    said, code = await _converse(process, standard_input(self.options, action), output)
            except TimeoutError:
                return AgentResult(_TIMED_OUT, f"no answer within {self.timeout:g} s")
            finally:
                await _end(process)
        text = redacted(said.decode(errors="replace"), self.options, self.hidden)
        return AgentResult(code, text[-_LONGEST_OUTPUT:])

    async def off(self) -> Answer:
        """Switch the machine off, as far as the agent says; `status` reads it back."""
        return await self._answer(OFF)

    async def on(self) -> Answer:
        """Switch the machine on, as far as the agent says."""
        return await self._answer(ON)

    async def status(self) -> Answer:
        """The state of the machine, in a call of its own."""
        try:
            state, result = await self.power()
        except OSError as error:
            return Answer(False, PowerState.UNKNOWN, f"{self.program} cannot be started: {error.strerror}")
        return Answer(state is not PowerState.UNKNOWN, state, result.said)

    async def _answer(self, action: str) -> Answer:
        try:
            result = await self.call(action)
        except OSError as error:
            return Answer(False, PowerState.UNKNOWN, f"{self.program} cannot be started: {error.strerror}")
        return Answer(result.code == 0, PowerState.UNKNOWN, result.said)

    async def power(self) -> tuple[PowerState, AgentResult]:
        """Ask for the state of the machine."""
        result = await self.call(STATUS)
        return power_state(result.code), result


async def _converse(
    process: asyncio.subprocess.Process, given: bytes, output: IO[bytes]
) -> tuple[bytes, int]:
    """Hand over the options, read until the last of its processes has closed the output, and wait."""
    assert process.stdin is not None
    async with asyncio.TaskGroup() as group:
        group.create_task(_feed(process.stdin, given))
        said = group.create_task(_last_of(output))
    return said.result(), await process.wait()


async def _feed(stream: asyncio.StreamWriter, given: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # it ended without reading
        stream.write(given)
        await stream.drain()
    stream.close()


async def _last_of(output: IO[bytes]) -> bytes:
    """The end of what is printed, where the reason stands; more is read than is kept.

    The pipe is our own. For one of its own, asyncio waits until it is closed before it says that the process
    has ended, and a child may keep it open, or have filled it.
    """
    stream = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), output)
    kept = b""
    try:
        while chunk := await stream.read(_KEPT):
            kept = (kept + chunk)[-_KEPT:]
    finally:
        pipe.close()
    return kept


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
        raise ConfigError(f"{field}: {name} is no program; name one such as fence_redfish, or its full path")
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{field}: {name[:80]!r} is no name of a fence agent, such as fence_redfish")
    found = shutil.which(name) or shutil.which(name, path=_PLACES)
    if found is None:
        raise ConfigError(f"{field}: {name} is not installed; on Debian it is in the package fence-agents")
    return found
