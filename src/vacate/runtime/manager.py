"""Starts informers and controllers, watches over them, and stops them in the reverse order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, runtime_checkable

from vacate import __version__
from vacate.api.installednames import LAST_WORK, MANAGER_VERSION
from vacate.api.times import format_time
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import InformerFactory
from vacate.runtime.leaderelection import LeaderElector
from vacate.runtime.tasks import finish

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


@runtime_checkable
class Settles(Protocol):
    """A runnable that others leave work to, which it finishes when they are gone."""

    async def settle(self) -> None:
        """Return soon, with the work done where that is possible."""
        ...


class Manager:
    """Runs everything that belongs together.

    Order of the start: the runnables, the informers, then, once all informers are synced and the lease is
    held, the controllers. If any of them ends by itself, all are stopped and `run` raises why. What the
    controllers have left to the runnables is done once they are stopped, while the lease is still held.
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
        if elector is not None:
            elector.notes = self._lease_notes
        self._tasks: list[asyncio.Task[None]] = []  # in the order of their start; none may end by itself
        self._starting: asyncio.Task[None] | None = None  # the start itself, which may end well
        self._working = 0  # how many of the tasks, the last ones, are controllers
        self._stopping = False
        self._ready = asyncio.Event()
        self._wake = asyncio.Event()  # set whenever a task has ended or a stop was asked for

    @property
    def ready(self) -> bool:
        """Whether everything runs, on synced caches."""
        return self._ready.is_set()

    def not_ready(self) -> str:
        """What is missing, or nothing: a health check. Informers that stand still count, too."""
        return self._informers.stalled() or ("" if self.ready else "starting")

    async def wait_ready(self) -> None:
        """Return when everything runs."""
        await self._ready.wait()

    def stop(self) -> None:
        """Ask `run` to stop everything and return. May be called twice, also before `run`."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Run until `stop`, until cancelled, or until something fails, which is then raised."""
        self._starting = self._task("start", self._start_all())
        try:
            while not self._stopping:
                await self._wake.wait()
                self._wake.clear()
                self._raise_ended()
        finally:
            self._ready.clear()
            await finish(self._task("stop", self._wind_down()))

    def _lease_notes(self) -> dict[str, str]:
        worked = max(filter(None, (one.last_work for one in self._controllers)), default=None)
        found = {MANAGER_VERSION: __version__}
        return found if worked is None else {**found, LAST_WORK: format_time(worked)}

    async def _start_all(self) -> None:
        for runnable in self._runnables:
            self._start(runnable.name, runnable.run())
        informers = self._informers.all()
        for informer in informers:
            self._start(f"informer {informer.kind.resource}", informer.run())
        for informer in informers:
            await informer.wait_synced()
        if self._elector is not None:
            await self._elector.acquire()
            self._start("leader election", self._elector.hold())
        for controller in self._controllers:
            self._start(controller.name, controller.run())
            self._working += 1
        self._ready.set()

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(self._task(name, work))

    def _task(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(lambda _: self._wake.set())
        return task

    def _raise_ended(self) -> None:
        """Raise for the first in the order of the start, so that a seed always tells the same."""
        if self._starting is not None and self._starting.done():
            self._starting.result()
        for task in self._tasks:
            if task.done():
                raise _why(task)

    async def _wind_down(self) -> None:
        """The start first, since it may be about to add tasks; then the last started first."""
        if self._starting is not None:
            await _cancel(self._starting)
        await self._end_down_to(len(self._tasks) - self._working)
        for runnable, task in zip(self._runnables, self._tasks, strict=False):
            if isinstance(runnable, Settles) and not task.done():
                await runnable.settle()
        await self._end_down_to(0)

    async def _end_down_to(self, count: int) -> None:
        while len(self._tasks) > count:
            await _cancel(self._tasks[-1])
            self._tasks.pop()


def _why(task: asyncio.Task[None]) -> BaseException:
    error = None if task.cancelled() else task.exception()
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if error is None:
        return RuntimeError(f"{task.get_name()} ended by itself")
    error.add_note(f"this ended {task.get_name()}, and everything with it")
    return error


async def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait until it is gone. What it raises on the way out goes to the log."""
    if task.done():
        return
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("%s failed while it was being stopped: %s", task.get_name(), error)
