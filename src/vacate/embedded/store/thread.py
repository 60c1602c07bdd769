"""One thread that works off calls in their order, for what must not block the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class WorkerThread:
    """Runs blocking functions one after the other and hands their results back to the loop."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to work."""
        # A daemon, so that a process which dies without closing its store does not hang at its end.
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    async def call(self, function: Callable[[], T]) -> T:
        """Run a function on the thread, after all that was asked before.

        Cancelling the caller does not stop the function: the outcome is then unknown.
        """
        if self._thread is None:
            raise RuntimeError(f"the thread {self._name!r} does not run")
        return await self._submit(function)

    async def stop(self) -> None:
        """Finish all calls and end the thread. May be called any number of times."""
        if self._thread is None:
            return
        thread, self._thread = self._thread, None
        await self._submit(_nothing)  # so that the join below finds the thread with nothing left to do
        self._jobs.put(None)
        thread.join()

    def _submit(self, function: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put((function, loop, future))
        return future

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, loop, future = job
            try:
                result, error = function(), None
            except BaseException as raised:  # the caller on the loop has to hear of all of them
                result, error = None, raised
            try:
                loop.call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:  # the loop is closed, nobody waits any more
                return


def _nothing() -> None:
    return None


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # cancelled meanwhile
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
