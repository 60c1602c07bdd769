"""Logs of containers are kept within a limit."""

from __future__ import annotations

import os

MAX_LOG = 10 * 1024 * 1024


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
