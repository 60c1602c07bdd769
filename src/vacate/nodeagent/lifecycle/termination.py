"""The end of one container: preStop, SIGTERM, the rest of the grace, SIGKILL, until nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Awaitable, Callable

from vacate.clock import Clock
from vacate.errors import VacateError
from vacate.nodeagent.lifecycle.grace import Grace
from vacate.nodeagent.runtime.protocol import ContainerRuntime, RuntimeLost

log = logging.getLogger(__name__)

_PASSING = (RuntimeLost, OSError)
"""The runtime cannot be asked, or not be started for lack of space: nothing is known to have ended."""

Hook = Callable[[float], Awaitable[None]]
"""Runs the preStop hook with a timeout; raises a VacateError where it fails."""


class Termination:
    """Runs once. Another crash of the agent begins it anew, with the whole grace."""

    def __init__(
        self,
        runtime: ContainerRuntime,
        clock: Clock,
        container: str,
        grace_seconds: float,
        hook: Hook | None = None,
        hook_failed: Callable[[VacateError], None] = lambda _: None,
    ) -> None:
        self._runtime = runtime
        self._clock = clock
        self._container = container
        self._hook = hook
        self._hook_failed = hook_failed
        self._grace = Grace(clock.monotonic(), grace_seconds)
        self._shortened = asyncio.Event()

    def shorten(self, grace_seconds: float) -> None:
        """Let a shorter grace overtake the present one; a longer one changes nothing."""
        if self._grace.shorten(grace_seconds, self._clock.monotonic()):
            self._shortened.set()

    async def run(self) -> None:
        """Return when every process of the container is gone."""
        gone = asyncio.get_running_loop().create_task(self._gone())
        try:
            if self._hook is not None and self._grace.seconds > 0:
                await self._first_of(gone, self._run_hook(self._hook), lambda: self._grace.deadline)
            if gone.done():
                return
            await self._signal(signal.SIGTERM)
            asked = self._clock.monotonic()
            await self._first_of(gone, None, lambda: self._grace.kill_at(asked))
            if not gone.done():
                await self._signal(signal.SIGKILL)
                await gone
        finally:
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await gone

    async def _gone(self) -> None:
        while True:
            try:
                await self._runtime.wait(self._container)
                return
            except _PASSING:
                await self._clock.sleep(0.1)

    async def _signal(self, number: signal.Signals) -> None:
        while True:
            try:
                return await self._runtime.signal(self._container, number)
            except _PASSING as error:
                log.warning("%s: %s did not get through, again: %s", self._container, number.name, error)
                await self._clock.sleep(0.1)

    async def _run_hook(self, hook: Hook) -> None:
        try:
            await hook(self._grace.hook_seconds(self._clock.monotonic()))
        except VacateError as error:
            self._hook_failed(error)

    async def _first_of(
        self, gone: asyncio.Task[None], work: Awaitable[None] | None, deadline: Callable[[], float]
    ) -> None:
        """Wait for the work, the end of the container or the deadline, which may come closer meanwhile."""
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work) if work is not None else None
        try:
            while (left := deadline() - self._clock.monotonic()) > 0:
                self._shortened.clear()
                shortened = loop.create_task(self._shortened.wait())
                waited = [gone, shortened, *([task] if task is not None else [])]
                try:
                    done, _ = await asyncio.wait(waited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    shortened.cancel()
                if gone in done or (task is not None and task in done):
                    return
        finally:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
