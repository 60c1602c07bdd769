"""The socket at which the supervisor of a folder listens, and the start of one where none does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import vacate
from vacate.nodeagent.runtime.protocol import RuntimeLost
from vacate.nodeagent.runtime.supervisor.connections import SOCKET

CONNECT_SECONDS = 10.0
START_SECONDS = 60.0
"""How long the supervisor may take to start: on a busy machine that is longer than on others."""

_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv.pop()); "
    "from vacate.nodeagent.runtime.supervisor.{} import main; main(*sys.argv[1:])"
)
_LIMIT = 16 * 1024 * 1024


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


async def connect(connection: socket.socket, folder: Path) -> None:
    """Connect a socket to the supervisor that listens."""
    with _address(folder) as address:
        await asyncio.get_running_loop().sock_connect(connection, address)


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
