"""Containers as local processes: the agent's side of the supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import hashlib
import itertools
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

import vacate
from vacate.nodeagent.runtime.protocol import (
    ContainerError,
    ContainerExit,
    ContainerRuntime,
    ContainerSpec,
    ContainerState,
    ExecResult,
    RuntimeLost,
)
from vacate.nodeagent.runtime.supervisor import cgroups
from vacate.nodeagent.runtime.supervisor.loop import MAX_REQUEST, SOCKET
from vacate.nodeagent.runtime.supervisor.procfs import MARKER, marker

_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[2]); "
    "from vacate.nodeagent.runtime.supervisor.main import main; main(sys.argv[1])"
)
_CONNECT_SECONDS = 10.0
log = logging.getLogger(__name__)

_LIMIT = 16 * 1024 * 1024


class ProcessRuntime:
    """Speaks to the supervisor of one folder, and starts it where there is none."""

    name = "process://1"

    def __init__(
        self, folder: Path, *, use_cgroups: bool = True, use_views: bool = True, ends_with_agent: bool = False
    ) -> None:
        self._folder = folder
        self._ends_with_agent = ends_with_agent  # else containers outlive this process, as on a real node
        root = cgroups.find_root() if use_cgroups else ""
        mark = hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:12]
        self.cgroup = f"{root}/vacate-{mark}" if root else ""
        self._views = use_views and os.geteuid() == 0
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._returning: asyncio.Task[None] | None = None
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._states: dict[str, ContainerState] = {}
        self._waiting: dict[str, list[asyncio.Future[ContainerState]]] = {}
        self._ended: Callable[[ContainerState], None] = lambda _: None
        self._opening = asyncio.Lock()

    @property
    def honours_mount_paths(self) -> bool:
        """Whether containers have a view of the file system of their own."""
        return self._views

    async def open(self, ended: Callable[[ContainerState], None]) -> list[ContainerState]:
        """Connect, and read what runs."""
        self._ended = ended
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._connected()
        if self._views:
            self._views = await self._views_work()
        return list(self._states.values())

    async def start(self, spec: ContainerSpec) -> ContainerState:
        """Have the supervisor fork it."""
        request: dict[str, Any] = {
            "id": spec.id,
            "argv": list(spec.argv),
            "env": {**spec.env, MARKER: marker(str(self._folder), spec.id)},
            "cwd": spec.cwd or str(spec.folder),
            "log": str(spec.log),
            "labels": dict(spec.labels),
            "user": list(spec.user) if spec.user else None,
        }
        if self.cgroup:
            request |= {"cgroup": f"{self.cgroup}/{spec.id}", "cgroup_top": self.cgroup}
        if self._views:
            request["view"] = _view(spec)
        state = _state(await self._ask("start", request))
        self._states.setdefault(state.id, state)
        return self._states[state.id]

    async def exec(
        self, container: str, argv: Sequence[str], env: Mapping[str, str], timeout: float
    ) -> ExecResult:
        """Have the supervisor run it beside the container."""
        reported = await self._ask(
            "exec",
            {
                "id": container,
                "argv": list(argv),
                "env": {**env, MARKER: marker(str(self._folder), container)},
                "timeout": timeout,
            },
        )
        return ExecResult(reported["code"], reported["output"], reported["timed_out"])

    async def signal(self, container: str, number: int) -> None:
        """Pass a signal on."""
        await self._ask("signal", {"id": container, "signal": int(number)})

    async def wait(self, container: str) -> ContainerState:
        """Return when the run is over."""
        await self._connected()
        state = self._states[container]
        if state.exit is not None:
            return state
        future: asyncio.Future[ContainerState] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(container, []).append(future)
        return await future

    async def remove(self, container: str) -> None:
        """Have the supervisor forget it."""
        await self._ask("remove", {"id": container})
        self._states.pop(container, None)

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

    async def hold(self, name: str, fd: int, orphan_seconds: float) -> None:
        """Have the supervisor hold a descriptor; it is closed here in any case."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            request = {"number": 1, "op": "hold", "name": name, "orphan_seconds": orphan_seconds}
            async with asyncio.timeout(_CONNECT_SECONDS):
                await self._connected()
                await self._connect_to(connection)
                socket.send_fds(connection, [orjson.dumps(request) + b"\n"], [fd])
                answer = await asyncio.get_running_loop().sock_recv(connection, 65536)
        except (TimeoutError, OSError) as error:
            raise RuntimeLost(f"the supervisor does not take the descriptor {name}: {error}") from error
        finally:
            connection.close()
            os.close(fd)
        if b'"ok"' not in answer:
            raise RuntimeLost(f"the supervisor does not hold the descriptor {name}: {answer!r}")

    async def holds(self, name: str) -> bool:
        """Whether the supervisor holds a descriptor of that name."""
        return bool((await self._ask("holds", {"name": name}))["held"])

    async def release(self, name: str) -> None:
        """Have the supervisor close it."""
        await self._ask("release", {"name": name})

    async def _connect_to(self, connection: socket.socket) -> None:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            await asyncio.get_running_loop().sock_connect(connection, f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.close(folder)

    async def _views_work(self) -> bool:
        """Try an overlay once; machines differ in what they allow."""
        place = self._folder / "view-check"
        place.mkdir(exist_ok=True)
        spec = ContainerSpec("view-check", ["true"], {"PATH": os.defpath}, place, place / "log")
        try:
            await self.start(spec)
            ended = await self.wait(spec.id)
            await self.remove(spec.id)
        except ContainerError:
            return False
        return ended.exit is not None and ended.exit.code == 0

    async def _ask(self, op: str, request: dict[str, Any]) -> Any:
        await self._connected()
        return await self._send(op, request)

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

    async def _connected(self) -> None:
        async with self._opening:
            if self._writer is not None:
                return
            while (listed := await self._listed()) is None:
                pass
        for reported in listed["containers"]:
            self._see(_state(reported))

    async def _listed(self) -> dict[str, Any] | None:
        """Connect and ask what runs. None where that one was exiting, since nothing ran: the next will do."""
        reader = await self._connect()
        self._reading = asyncio.get_running_loop().create_task(self._read(reader))
        try:
            listed: dict[str, Any] = await self._send("list", {"ends_with_agent": self._ends_with_agent})
        except RuntimeLost:
            return None
        return listed

    async def _connect(self) -> asyncio.StreamReader:
        async with asyncio.timeout(_CONNECT_SECONDS) as limit:
            try:
                while True:
                    if (found := await self._try_connect()) is not None:
                        return found
                    await self._spawn()  # another one may be about to exit: then again
            except TimeoutError:
                if not limit.expired():
                    raise
                raise RuntimeLost(
                    f"the supervisor of {self._folder} does not start; see {self._folder}/supervisor.log"
                ) from None

    async def _try_connect(self) -> asyncio.StreamReader | None:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # By way of the folder's descriptor: an address of a socket has at most 107 characters.
            reader, self._writer = await asyncio.open_unix_connection(
                f"/proc/self/fd/{folder}/{SOCKET}", limit=_LIMIT
            )
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        finally:
            os.close(folder)
        return reader

    async def _spawn(self) -> None:
        """Start a supervisor; it listens when this returns, unless there was one already."""
        with (self._folder / "supervisor.log").open("ab") as log:
            starter = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-S", "-c", _PROGRAM, str(self._folder.absolute())),
                str(Path(vacate.__file__).parent.parent),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={"PATH": os.defpath},
            )
        await starter.wait()

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
                return await self._connected()
            except (RuntimeLost, OSError) as error:
                log.warning("%s: no supervisor, trying again: %s", self._folder, error)

    def _handle(self, message: dict[str, Any]) -> None:
        if message.get("event") == "ended":
            self._see(_state(message))
            return
        answer = self._answers.get(message.get("number") or 0)
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(ContainerError(f"{message['step']}: {message['error']}"))
        else:
            answer.set_result(message["ok"])

    def _see(self, state: ContainerState) -> None:
        known = self._states.get(state.id)
        if state.exit is None and known is not None and known.exit and known.started == state.started:
            return  # a list from before the end of that run, which was read together with it
        self._states[state.id] = state
        if state.exit is None or (known is not None and known.exit is not None):
            return
        for future in self._waiting.pop(state.id, ()):
            if not future.done():
                future.set_result(state)
        self._ended(state)

    def _disconnected(self) -> asyncio.StreamWriter | None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(RuntimeLost("the supervisor went away"))
        return writer


def _view(spec: ContainerSpec) -> dict[str, Any]:
    scratch = spec.folder.parent / f"{spec.folder.name}.view"
    root = scratch / "root"
    root.mkdir(parents=True, exist_ok=True)
    own = (str(spec.folder), str(spec.folder), False)
    binds = [own, *((str(one.source), one.target, one.read_only) for one in spec.binds)]
    return {"root": str(root), "scratch": str(scratch), "binds": binds}


def _state(reported: dict[str, Any]) -> ContainerState:
    ended = reported["exit"]
    found = ContainerExit(ended["code"], _moment(ended["finished_at"])) if ended else None
    return ContainerState(
        reported["id"], reported["labels"], _moment(reported["started_at"]), reported["log"], found
    )


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


_: type[ContainerRuntime] = ProcessRuntime
