"""The connection to the supervisor, which is started where there is none: requests, answers and reports."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

import vacate
from vacate.clock import Clock
from vacate.entropy import system_entropy
from vacate.nodeagent.runtime.protocol import ContainerError, RuntimeLost, StartGivenUp
from vacate.nodeagent.runtime.supervisor.children import GIVEN_UP
from vacate.nodeagent.runtime.supervisor.connections import MAX_REQUEST, SOCKET

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
CONNECT_SECONDS = 10.0
START_SECONDS = 60.0
"""How long the supervisor may take to start: on a busy machine that is longer than on others."""
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv.pop()); "
    "from vacate.nodeagent.runtime.supervisor.{} import main; main(*sys.argv[1:])"
)
_LIMIT = 16 * 1024 * 1024


class SupervisorConnection:
    """Speaks to the supervisor of one folder. `report` is called with each container that it reports."""

    def __init__(
        self, folder: Path, report: Callable[[dict[str, Any]], None], clock: Clock, *, ends_with_agent: bool
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._report = report
        self._ends_with_agent = ends_with_agent
        self._agent = system_entropy().uid()  # so that the supervisor tells this agent from the one before
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._returning: asyncio.Task[None] | None = None
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._opening = asyncio.Lock()

    async def ensure(self) -> None:
        """Connect where that is to be done, and have everything reported that runs."""
        async with self._opening:
            if self._writer is not None:
                return
            while (listed := await self._listed()) is None:
                pass
        for reported in listed["containers"]:
            self._report(reported)

    async def ask(self, op: str, request: dict[str, Any]) -> Any:
        """Send a request and wait for the answer; ContainerError where it is an error."""
        await self.ensure()
        return await self._send(op, request)

    async def hold(self, fd: int, orphan_seconds: float) -> None:
        """Hand the lock over, by a connection of its own; it is closed here in any case."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            request = {"number": 1, "op": "hold", "agent": self._agent, "orphan_seconds": orphan_seconds}
            async with asyncio.timeout(CONNECT_SECONDS):
                await self.ensure()
                with _address(self._folder) as address:
                    await asyncio.get_running_loop().sock_connect(connection, address)
                socket.send_fds(connection, [orjson.dumps(request) + b"\n"], [fd])
                answer = await asyncio.get_running_loop().sock_recv(connection, 65536)
        except (TimeoutError, OSError) as error:
            raise RuntimeLost(f"the supervisor does not take the lock: {error}") from error
        finally:
            connection.close()
            os.close(fd)
        if b'"ok"' not in answer:
            raise RuntimeLost(f"the supervisor does not hold the lock: {answer!r}")

    async def aclose(self) -> None:
        """Close the connection; the supervisor stays while something runs or is held."""
        for task in (self._reading, self._returning):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        writer = self._disconnected()
        if writer is not None:
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _send(self, op: str, request: dict[str, Any]) -> Any:
        if self._writer is None:
            raise RuntimeLost("the supervisor went away")
        number = next(self._numbers)
        line = orjson.dumps({"number": number, "op": op, **request}) + b"\n"
        if len(line) > MAX_REQUEST:
            raise ContainerError("command and environment are too large; put them into files")
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._writer.write(line)
        try:
            return await answer
        finally:
            self._answers.pop(number, None)

    async def _listed(self) -> dict[str, Any] | None:
        """Connect and ask what runs. None where that one was exiting, since nothing ran: the next will do."""
        reader, self._writer = await open_stream(self._folder)
        self._reading = asyncio.get_running_loop().create_task(self._read(reader))
        try:
            own = {"ends_with_agent": self._ends_with_agent, "agent": self._agent}
            listed: dict[str, Any] = await self._send("list", own)
        except RuntimeLost:
            return None
        return listed

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                self._handle(orjson.loads(line))
        self._disconnected()
        if self._opening.locked():
            return  # the caller that opens the connection gets it
        # Those who wait for an end must hear of it, too.
        self._returning = asyncio.get_running_loop().create_task(self._return())

    async def _return(self) -> None:
        while True:
            try:
                return await self.ensure()
            except (RuntimeLost, OSError) as error:
                log.warning("%s: no supervisor, trying again: %s", self._folder, error)
            # It may have failed without waiting for anything, and nothing else would ever have a turn.
            await self._clock.sleep(RETRY_SECONDS)

    def _handle(self, message: dict[str, Any]) -> None:
        if message.get("event") == "ended":
            self._report(message)
            return
        answer = self._answers.get(message.get("number") or 0)
        if answer is None or answer.done():
            return
        if "error" in message:
            kind = StartGivenUp if message["step"] == GIVEN_UP else ContainerError
            answer.set_exception(kind(f"{message['step']}: {message['error']}"))
        else:
            answer.set_result(message["ok"])

    def _disconnected(self) -> asyncio.StreamWriter | None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(RuntimeLost("the supervisor went away"))
        return writer


async def open_stream(folder: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the supervisor; start one where there is none. RuntimeLost where it does not start."""
    limit = asyncio.timeout(START_SECONDS)
    try:
        async with limit:
            while True:
                if (found := await _try_open(folder)) is not None:
                    return found
                await _spawn(folder)  # another one may be about to exit: then again
    except TimeoutError:
        if not limit.expired():
            raise
        raise RuntimeLost(f"the supervisor of {folder} does not start; see {folder}/supervisor.log") from None


async def _try_open(folder: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
    with _address(folder) as address:
        try:
            return await asyncio.open_unix_connection(address, limit=_LIMIT)
        except (FileNotFoundError, ConnectionRefusedError):
            return None


@contextlib.contextmanager
def _address(folder: Path) -> Iterator[str]:
    """By way of the folder's descriptor: an address of a socket has at most 107 characters."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


async def _spawn(folder: Path) -> None:
    """Start a supervisor; it listens when this returns, unless there was one already."""
    with (folder / "supervisor.log").open("ab") as log:
        starter = await asyncio.create_subprocess_exec(
            *_command(folder),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={"PATH": os.defpath},
        )
    await starter.wait()


def _command(folder: Path) -> list[str]:
    return isolated("main", str(folder.absolute()))


def isolated(module: str, *arguments: str) -> list[str]:
    """The command line of a module of the supervisor, with the standard library and nothing else."""
    package = Path(vacate.__file__).parent.parent
    return [sys.executable, "-I", "-S", "-c", _PROGRAM.format(module), *arguments, str(package)]
