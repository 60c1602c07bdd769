"""What a container has printed, as `kubectl logs` asks for it: whole, its end, or as it grows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vacate.api.integers import MAX_INT64
from vacate.clock import Clock
from vacate.errors import BadRequest
from vacate.wire.message import Response

_PLAIN = "text/plain"
_CHUNK = 64 * 1024
_POLL_SECONDS = 0.2
_MAX_READ = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What of a log is wanted."""

    follow: bool = False
    previous: bool = False
    tail: int | None = None
    limit: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> LogOptions:
        """As a request says it, or BadRequest."""
        follow, previous = (_flag(query, key) for key in ("follow", "previous"))
        return cls(follow, previous, _number(query, "tailLines"), _number(query, "limitBytes"))


def chosen_run(files: list[Path], options: LogOptions, container: str, pod: str) -> Path:
    """Of the runs, the newest last, the one that is asked for; BadRequest where there is none."""
    count = 2 if options.previous else 1
    if len(files) < count:
        which = "previous terminated container" if options.previous else "container"
        raise BadRequest(f'{which} "{container}" in pod "{pod}" has no log on this server\'s nodes')
    return files[-count]


def read_log(path: Path, options: LogOptions, runs: Callable[[], bool], clock: Clock) -> Response:
    """The log; with `follow` also what is printed from now on, until `runs` says that the container ended."""
    file = path.open("rb")
    try:
        file.seek(_start(file, options.tail))
        if not options.follow:
            limit = options.limit
            with file:
                return Response(200, file.read(_MAX_READ if limit is None else min(limit, _MAX_READ)), _PLAIN)
    except BaseException:
        file.close()
        raise
    return Response(200, _Following(file, options.limit, runs, clock), _PLAIN)


class _Following:
    """The log as it grows."""

    def __init__(self, file: IO[bytes], limit: int | None, runs: Callable[[], bool], clock: Clock) -> None:
        self._file, self._left, self._runs, self._clock = file, limit, runs, clock

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._left is None or self._left > 0:
            over = not self._runs()  # asked before reading, so that the last words are not missed
            chunk = self._file.read(_CHUNK if self._left is None else min(self._left, _CHUNK))
            if chunk:
                self._left = None if self._left is None else self._left - len(chunk)
                yield chunk
            elif over:
                return
            else:
                await self._clock.sleep(_POLL_SECONDS)

    async def aclose(self) -> None:
        """Close the file."""
        self._file.close()


def _start(file: IO[bytes], tail: int | None) -> int:
    """Where the last so many lines begin."""
    if tail is None:
        return 0
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


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    digits = text.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20) or int(digits) > MAX_INT64:
        raise BadRequest(f"{name}: {text[:80]!r} is not a number")
    if text.startswith("-") and int(digits):
        raise BadRequest(f"{name}: must be greater than or equal to 0")
    return int(digits)


def _flag(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1")
