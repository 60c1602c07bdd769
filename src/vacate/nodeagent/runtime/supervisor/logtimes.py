"""When a log grew: marks beside it, by which its lines have times.

Containers write to the file themselves, so that nothing they print depends on a reader. What is between two
marks was printed between their times. There are at most so many marks: of the older ones every other goes.
"""

from __future__ import annotations

import contextlib
import os
import struct

SUFFIX = ".times"
_MARK = struct.Struct("<dQ")  # seconds since 1970, size of the log
_MAX_MARKS = 4096
_LAST_SECOND = 253_402_300_799.0  # of the year 9999

Mark = tuple[float, int]
MAX_LOG = 10 * 1024 * 1024


class Marks:
    """The marks of one log, while it is written."""

    def __init__(self, log: str) -> None:
        self._path = f"{log}{SUFFIX}"
        self._marks: list[Mark] | None = None
        self._whole = False  # whether the file has these marks and nothing else

    def look(self, size: int, now: float) -> None:
        """The log has this size now. OSError where that cannot be written down."""
        if self._marks is None:
            self._marks = read_marks(self._path)
        last = self._marks[-1][1] if self._marks else 0
        if size == last:
            return
        if size < last:
            self._marks = []  # the log was cut
        self._marks.append((now, size))
        if len(self._marks) > _MAX_MARKS:
            self._marks = [*self._marks[:-1:2], self._marks[-1]]
            self._whole = False
        whole, self._whole = self._whole and size > last, False
        if whole:
            with open(self._path, "ab") as file:  # noqa: PTH123
                file.write(_MARK.pack(now, size))
        else:
            self._rewrite(self._marks)
        self._whole = True

    def _rewrite(self, marks: list[Mark]) -> None:
        with open(f"{self._path}.new", "wb") as file:  # noqa: PTH123
            file.write(b"".join(_MARK.pack(*one) for one in marks))
        os.replace(f"{self._path}.new", self._path)  # noqa: PTH105


def read_marks(path: str) -> list[Mark]:
    """The marks of a file, by size; none where there is no file. What makes no sense is left out."""
    data = b""
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        data = file.read(2 * _MAX_MARKS * _MARK.size)
    found: list[Mark] = []
    for time, size in _MARK.iter_unpack(data[: len(data) // _MARK.size * _MARK.size]):
        if 0 <= time <= _LAST_SECOND and size > (found[-1][1] if found else 0):
            found.append((time, size))
    return found


def rotate(path: str) -> int:
    """Keep the newest part of a log that has grown too long; the program goes on writing to the same file.

    The size that the log has now.
    """
    size = os.stat(path).st_size  # noqa: PTH116
    if size <= MAX_LOG:
        return size
    with open(path, "rb") as file, open(f"{path}.1", "wb") as older:  # noqa: PTH123
        file.seek(max(size - MAX_LOG, 0))
        while chunk := file.read(1024 * 1024):
            older.write(chunk)
            if older.tell() > 2 * MAX_LOG:
                break
    os.truncate(path, 0)
    return 0
