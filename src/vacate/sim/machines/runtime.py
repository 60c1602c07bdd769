"""The container runtime of a simulated machine, as the node agent asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from vacate.nodeagent.runtime.protocol import (
    ContainerError,
    ContainerRuntime,
    ContainerSpec,
    ContainerState,
    ExecResult,
    Held,
)
from vacate.nodeagent.shutdown.protocol import LockHolder
from vacate.sim.machines.machine import Machine


class SimRuntime:
    """One agent's connection to its machine. What it asked for is done although it dies meanwhile."""

    name = "simulated://1"
    honours_mount_paths = True

    def __init__(self, machine: Machine, close: Callable[[int], None] = lambda _: None) -> None:
        self._machine = machine
        self._close = close  # called with a lock that is let go of

    async def open(self, ended: Callable[[ContainerState], None]) -> list[ContainerState]:
        """What was started and not removed."""
        self._machine.ended = ended
        return await self._machine.list()

    async def start(self, spec: ContainerSpec) -> ContainerState:
        """Start a run."""
        started: ContainerState = await asyncio.shield(self._machine.spawn(self._machine.start(spec)))
        return started

    async def exec(
        self,
        container: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        timeout: float,
        once: str = "",
        *,
        outside: bool = False,
    ) -> ExecResult:
        """A command in a container: a hook takes its time, any other tells whether the process is ready."""
        run = self._machine.run(container)
        if run is None or run.exit is not None:
            raise ContainerError("container: the container is not running")
        if once:
            await self._machine.run_once(container, once, timeout)
            return ExecResult(0, "HTTP/1.1 200 OK" if outside else "")
        return ExecResult(0 if self._machine.ready(run) else 1)

    async def signal(self, container: str, number: int) -> None:
        """Send a signal."""
        self._machine.signal(container, number)

    async def wait(self, container: str) -> ContainerState:
        """Return when the run is over."""
        return await self._machine.wait(container)

    async def remove(self, container: str) -> None:
        """Forget a run that has ended."""
        await self._machine.remove(container)

    async def aclose(self) -> None:
        """Let go. What runs, runs on."""
        self._machine.ended = lambda _: None

    async def hold(self, fd: int, orphan_seconds: float) -> None:
        """Hold the lock for as long as the machine is on."""
        await self.release()
        self._machine.lock, self._machine.left_at = fd, None

    async def holds(self, *, listening: bool = False) -> Held | None:
        """The lock, if it is held."""
        if listening:
            self._machine.listens()
        return Held(self._machine.left_at) if self._machine.lock is not None else None

    async def release(self) -> None:
        """Close it, if it is held."""
        fd, self._machine.lock = self._machine.lock, None
        if fd is not None:
            self._close(fd)


_runtime: type[ContainerRuntime] = SimRuntime
_holder: type[LockHolder] = SimRuntime
