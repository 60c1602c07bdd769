"""The log on disk: an SQLite file behind one thread of its own, the only one that touches it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from vacate.embedded.store.log import Record
from vacate.embedded.store.logfile import LogFile

RUN = 2000
"""Records handed over at once while the log is read."""


class SqliteLog:
    """A log in one SQLite file; see `LogFile` for what makes it durable."""

    def __init__(self, path: Path, *, open_file: Callable[[Path], LogFile] = LogFile) -> None:
        self._path = path
        self._open_file = open_file
        self._thread = WorkerThread("store log")
        self._file: LogFile | None = None

    async def open(self) -> int:
        """Open or create the file. ConfigError when it is something else, StoreError when it is damaged."""
        self._thread.start()
        self._file = await self._thread.call(partial(self._open_file, self._path))
        return await self._thread.call(self._file.compacted)

    async def replay(self) -> AsyncIterator[Sequence[Record]]:
        """The records of the file, by revision."""
        last = 0
        while records := await self._thread.call(partial(self._opened.read, last, RUN)):
            last = records[-1].revision
            yield records

    async def append(self, records: Sequence[Record]) -> None:
        """Return when the file with these records is synced; StoreError when that failed."""
        await self._thread.call(partial(self._opened.append, records))

    async def compact(self, revision: int, obsolete: Sequence[int]) -> None:
        """One transaction that drops records; appends wait for no more than this."""
        await self._thread.call(partial(self._opened.compact, revision, obsolete))

    async def aclose(self) -> None:
        """Finish what was handed over, close the file, end the thread. May be called any number of times."""
        file, self._file = self._file, None
        if file is not None:
            await self._thread.call(file.close)
        await self._thread.stop()

    @property
    def _opened(self) -> LogFile:
        assert self._file is not None, "the log is not open"
        return self._file


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
