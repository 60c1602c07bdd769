"""Carries out the termination of one container: preStop, SIGTERM, SIGKILL, until nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from vacate.clock import Clock
from vacate.errors import VacateError
from vacate.nodeagent.lifecycle.stages import HOOK, KILL, TERM, ContainerTermination, next_step
from vacate.nodeagent.runtime.protocol import ContainerRuntime, RuntimeLost

log = logging.getLogger(__name__)

_PASSING = (RuntimeLost, OSError)
"""The runtime cannot be asked, or not be started for lack of space: nothing is known to have ended."""
_SIGNALS = {TERM: signal.SIGTERM, KILL: signal.SIGKILL}

Hook = Callable[[float, float | None], Awaitable[None]]
"""Runs the preStop hook with a timeout; goes on with one that an earlier agent began so many seconds ago.

Raises a VacateError where it fails.
"""


@dataclass(eq=False)
class Termination:
    """Goes on from where the record stands. The runtime does nothing twice that it was asked for twice."""

    runtime: ContainerRuntime
    clock: Clock
    container: str
    record: ContainerTermination
    hook: Hook | None = None
    hook_failed: Callable[[VacateError], None] = lambda _: None
    save: Callable[[], None] = lambda: None
    _shortened: asyncio.Event = field(default_factory=asyncio.Event)

    def shorten(self, grace_seconds: float) -> None:
        """Let a shorter grace overtake the present one; a longer one changes nothing."""
        if self.record.shorten(grace_seconds, self.clock.monotonic()):
            self.save()
            self._shortened.set()

    async def run(self) -> None:
        """Return when every process of the container is gone."""
        loop, record = asyncio.get_running_loop(), self.record
        gone = loop.create_task(self._gone())
        hook: asyncio.Task[None] | None = None
        resumed = record.stage == HOOK
        try:
            while not gone.done():
                if record.stage == HOOK and hook is None:
                    hook = loop.create_task(self._run_hook(resumed=resumed))
                now = self.clock.monotonic()
                stage, at = next_step(record, now, hook_over=hook is not None and hook.done())
                if at > now:
                    await self._wait(at - now, gone, hook if record.stage == HOOK else None)
                    continue
                if stage in _SIGNALS:
                    if hook is not None:
                        hook.cancel()
                    number = _SIGNALS[stage]
                    send = functools.partial(self.runtime.signal, self.container, number)
                    await self._get_through(number.name, send)
                record.stage, record.since = stage, self.clock.monotonic()
                self.save()
        finally:
            for task in (gone, hook):
                if task is not None:
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await task

    async def _gone(self) -> None:
        while True:
            try:
                await self.runtime.wait(self.container)
                return
            except _PASSING:
                await self.clock.sleep(0.1)

    async def _get_through(self, what: str, ask: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                return await ask()
            except _PASSING as error:
                log.warning("%s: %s did not get through, again: %s", self.container, what, error)
                await self.clock.sleep(0.1)

    async def _run_hook(self, *, resumed: bool) -> None:
        record, run = self.record, self.hook
        ago = self.clock.monotonic() - record.since if resumed else None
        if run is None:
            return

        async def ask() -> None:
            await run(max(record.term_at - self.clock.monotonic(), 0.0), ago)

        try:
            await self._get_through("its hook", ask)
        except VacateError as error:
            self.hook_failed(error)

    async def _wait(self, seconds: float, *tasks: asyncio.Task[None] | None) -> None:
        """Until one of the tasks is done, the time is over, or the deadline has come closer."""
        self._shortened.clear()
        shortened = asyncio.get_running_loop().create_task(self._shortened.wait())
        waited = [shortened, *(one for one in tasks if one is not None)]
        limit = None if seconds == math.inf else seconds
        try:
            await asyncio.wait(waited, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            shortened.cancel()
