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

    async def call(self, action: str) -> AgentResult:
        """Run the agent once. One that does not end in time is killed with all of its children."""
        process = await asyncio.create_subprocess_exec(
            self.program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self.timeout):
                output, _ = await process.communicate(standard_input(self.options, action))
        except TimeoutError:
            return AgentResult(_TIMED_OUT, f"no answer within {self.timeout:g} s")
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        text = redacted(output.decode(errors="replace"), self.options)
        return AgentResult(process.returncode or 0, text[-_LONGEST_OUTPUT:])

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
