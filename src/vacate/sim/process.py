"""A process of a simulation: a manager that can crash at any moment and be started again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from vacate.sim.network import Network


class Program(Protocol):
    """What a process runs; a Manager is one."""

    async def run(self) -> None:
        """Work until cancelled or stopped."""
        ...

    async def wait_ready(self) -> None:
        """Return when it works."""
        ...

    def stop(self) -> None:
        """Ask `run` to return."""
        ...


class Process:
    """Starts, stops and crashes what `build` makes. Its link has the process' name."""

    def __init__(self, name: str, network: Network, build: Callable[[], Program]) -> None:
        self.name = name
        self._network = network
        self._build = build
        self._manager: Program | None = None
        self._task: asyncio.Task[None] | None = None
        self._works = False

    @property
    def is_running(self) -> bool:
        """Whether it was started, and has neither ended nor crashed."""
        return self._task is not None and not self._task.done()

    @property
    def is_ready(self) -> bool:
        """Whether it runs, on synced caches."""
        return self.is_running and self._works

    async def start(self) -> None:
        """Start, and return when it runs on synced caches, or has crashed meanwhile."""
        assert self._task is None, f"{self.name} runs already"
        self._works = False
        manager = self._manager = self._build()
        task = self._task = asyncio.get_running_loop().create_task(manager.run(), name=self.name)
        ready = asyncio.get_running_loop().create_task(manager.wait_ready())
        try:
            await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
            self._works = ready.done()
        finally:
            ready.cancel()
        if task.done() and not task.cancelled():
            task.result()

    async def stop(self) -> None:
        """End in good order; an error that ended it before is raised now."""
        if self._manager is not None and self._task is not None:
            self._manager.stop()
            await self._task
        self._manager = self._task = None

    async def crash(self) -> None:
        """End at once: nothing that it would still say reaches anybody."""
        if self._task is not None:
            self._network.kill(self.name)
            self._task.cancel()
            await asyncio.wait([self._task])
        self._manager = self._task = None

    def check(self) -> None:
        """Raise what ended the process, if anything did."""
        if self._task is not None and self._task.done():
            self._task.result()
