"""Starts informers and controllers, watches over them, and stops them in the reverse order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from vacate.runtime.controller import Controller
from vacate.runtime.deps import InformerFactory
from vacate.runtime.leader import LeaderElector

log = logging.getLogger(__name__)


class Runnable(Protocol):
    """Something that runs until it is cancelled."""

    @property
    def name(self) -> str:
        """For the log and for tasks."""
        ...

    async def run(self) -> None:
        """Work until cancelled; returning earlier is a failure."""
        ...


class Manager:
    """Runs everything that belongs together.

    Order of the start: the runnables, the informers, then, once all informers are synced and the lease is
    held, the controllers. If any of them ends by itself, all are stopped and `run` raises why.
    """

    def __init__(
        self,
        informers: InformerFactory,
        controllers: Sequence[Controller],
        *,
        runnables: Sequence[Runnable] = (),
        elector: LeaderElector | None = None,
    ) -> None:
        self._informers = informers
        self._controllers = tuple(controllers)
        self._runnables = tuple(runnables)
        self._elector = elector
        self._tasks: list[asyncio.Task[None]] = []  # in the order of their start; all are watched over
        self._stop = asyncio.Event()
        self._ready = asyncio.Event()

    @property
    def ready(self) -> bool:
        """Whether everything runs on synced caches."""
        return self._ready.is_set()

    async def wait_ready(self) -> None:
        """Return when everything runs."""
        await self._ready.wait()

    def stop(self) -> None:
        """Ask `run` to stop everything and return. May be called twice, also before `run`."""
        self._stop.set()

    async def run(self) -> None:
        """Run until `stop`, until cancelled, or until something fails, which is then raised."""
        try:
            await self._supervise(self._begin())
            await self._supervise(self._stop.wait())
        finally:
            self._ready.clear()
            await self._wind_down()

    async def _begin(self) -> None:
        for runnable in self._runnables:
            self._start(runnable.name, runnable.run())
        for informer in self._informers.all():
            self._start(f"informer {informer.kind.resource}", informer.run())
        for informer in self._informers.all():
            await informer.wait_synced()
        if self._elector is not None:
            await self._elector.acquire()
            self._start("leader election", self._elector.hold())
        for controller in self._controllers:
            self._start(controller.name, controller.run())
        self._ready.set()

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work, name=name))

    async def _supervise(self, work: Coroutine[Any, Any, Any]) -> None:
        """Await the work, unless something that must go on ends first: then raise why."""
        main = asyncio.get_running_loop().create_task(work)
        try:
            while not main.done():
                watched = [main, *self._tasks]
                if not any(task.done() for task in watched):
                    await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
                self._raise_ended()
            main.result()
        finally:
            await _cancelled(main)

    def _raise_ended(self) -> None:
        """Tasks in the order of their start, so that of several failures always the same one is told."""
        for task in self._tasks:
            if task.done():
                error = None if task.cancelled() else task.exception()
                raise error or RuntimeError(f"{task.get_name()} ended by itself")

    async def _wind_down(self) -> None:
        for task in reversed(self._tasks):
            await _cancelled(task)
        if self._elector is not None:
            await self._elector.release()


async def _cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it is gone; its own failure was told elsewhere."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
