"""The log on disk: an SQLite file behind one thread of its own, the only one that touches it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

from vacate.embedded.store.log import Record
from vacate.embedded.store.logfile import LogFile
from vacate.embedded.store.thread import WorkerThread

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
