"""What a container has printed, as `kubectl logs` asks for it: whole, its end, with times, or as it grows."""

from __future__ import annotations

import datetime as dt
import os
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import IO

from vacate.api.options import LogOptions
from vacate.api.times import format_micro_time
from vacate.clock import Clock
from vacate.errors import BadRequest
from vacate.nodeagent.runtime.supervisor.logtimes import SUFFIX, Mark, read_marks
from vacate.wire.message import Response

_PLAIN = "text/plain"
_CHUNK = 64 * 1024
_POLL_SECONDS = 0.2
_MAX_READ = 64 * 1024 * 1024


def chosen_run(files: list[Path], options: LogOptions, container: str, pod: str) -> Path:
    """Of the runs, the newest last, the one that is asked for; BadRequest where there is none."""
    count = 2 if options.previous else 1
    if len(files) < count:
        which = "previous terminated container" if options.previous else "container"
        raise BadRequest(f'{which} "{container}" in pod "{pod}" has no log on this server\'s nodes')
    return files[-count]


def read_log(path: Path, options: LogOptions, runs: Callable[[], bool], clock: Clock) -> Response:
    """The log; with `follow` also what is printed from now on, until `runs` says that the container ended."""
    log = _Log(path, options)
    if options.follow:
        return Response(200, _Following(log, runs, clock), _PLAIN)
    try:
        found, size = [], 0
        while size < _MAX_READ and (chunk := log.read()):
            found.append(chunk)
            size += len(chunk)
        return Response(200, b"".join(found), _PLAIN)
    finally:
        log.close()


class _Log:
    """Reads the wanted part of a log, piece by piece."""

    def __init__(self, path: Path, options: LogOptions) -> None:
        self._marks = read_marks(f"{path}{SUFFIX}") if options.timestamps or options.since is not None else []
        self._left = options.limit
        self._stamps = options.timestamps
        self._at_line_start = True
        self._file = path.open("rb")
        try:
            self._file.seek(_start(self._file, self._marks, options))
        except BaseException:
            self._file.close()
            raise

    @property
    def full(self) -> bool:
        """Whether as many bytes were read as were asked for."""
        return self._left == 0

    def read(self) -> bytes:
        """The next piece; empty at the end, for now or for ever."""
        if self.full:
            return b""
        offset = self._file.tell()
        if os.fstat(self._file.fileno()).st_size < offset:
            offset = self._file.seek(0)  # it was cut since, and is written on from its beginning
            self._marks = []
        chunk = self._file.read(_CHUNK)
        if self._stamps:
            chunk = self._stamped(chunk, offset)
        if self._left is not None:
            chunk = chunk[: self._left]
            self._left -= len(chunk)
        return chunk

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _stamped(self, chunk: bytes, offset: int) -> bytes:
        """The piece with the time of each line before it."""
        found, begin = bytearray(), 0
        while begin < len(chunk):
            end = chunk.find(b"\n", begin) + 1 or len(chunk)
            if self._at_line_start:
                found += self._stamp(offset + begin)
            found += chunk[begin:end]
            self._at_line_start = chunk[end - 1] == 0x0A
            begin = end
        return bytes(found)

    def _stamp(self, offset: int) -> bytes:
        index = bisect_right(self._marks, offset, key=lambda mark: mark[1])
        known = self._marks[index][0] if index < len(self._marks) else _modified(self._file)
        return f"{format_micro_time(dt.datetime.fromtimestamp(known, dt.UTC))} ".encode()


class _Following:
    """The log as it grows."""

    def __init__(self, log: _Log, runs: Callable[[], bool], clock: Clock) -> None:
        self._log, self._runs, self._clock = log, runs, clock

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self._log.full:
            over = not self._runs()  # asked before reading, so that the last words are not missed
            if chunk := self._log.read():
                yield chunk
            elif over:
                return
            else:
                await self._clock.sleep(_POLL_SECONDS)

    async def aclose(self) -> None:
        """Close the file."""
        self._log.close()


def _start(file: IO[bytes], marks: Sequence[Mark], options: LogOptions) -> int:
    """Where the wanted part begins."""
    start = 0
    if options.since is not None:
        start = _first_line_from(file, _size_at(file, marks, options.since))
    return start if options.tail is None else max(start, _tail_start(file, options.tail))


def _modified(file: IO[bytes]) -> float:
    return max(os.fstat(file.fileno()).st_mtime, 0.0)


def _size_at(file: IO[bytes], marks: Sequence[Mark], moment: float) -> int:
    """How long the log was at that moment, or a second before."""
    size, end = 0, file.seek(0, 2)
    for time, grown in marks:
        if time >= moment:
            return size
        size = min(grown, end)  # it may have been cut just now
    return size if _modified(file) >= moment else end


def _first_line_from(file: IO[bytes], offset: int) -> int:
    """Where the first line begins that does not begin before the offset."""
    if offset == 0:
        return 0
    position = file.seek(offset - 1)
    while chunk := file.read(_CHUNK):
        found = chunk.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(chunk)
    return position


def _tail_start(file: IO[bytes], tail: int) -> int:
    """Where the last so many lines begin."""
    end = position = file.seek(0, 2)
    lines = tail + 1
    while position > 0 and lines > 0:
        begin = max(position - _CHUNK, 0)
        file.seek(begin)
        chunk = file.read(position - begin)
        if position == end and not chunk.endswith(b"\n"):
            lines -= 1
        while lines > 0 and (found := chunk.rfind(b"\n")) >= 0:
            lines -= 1
            chunk = chunk[:found]
            if lines == 0:
                return begin + found + 1
        position = begin
    return 0
