"""What runs, on disk: one small file for each container, replaced whole.

The files are not synced. They matter only after a crash of agent and supervisor; after a crash of the machine
no process is left that they could speak of.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

Record = dict[str, Any]

_SUFFIX = ".json"


def create(folder: str, record: Record) -> None:
    """Write the container's first record in place. One that dies half-way has not become the program yet."""
    fd = os.open(
        f"{folder}/{record['id']}{_SUFFIX}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
    )
    try:
        os.write(fd, json.dumps(record).encode())
    finally:
        os.close(fd)


def write(folder: str, record: Record) -> None:
    """Replace the container's file."""
    path = f"{folder}/{record['id']}{_SUFFIX}"
    with open(f"{path}.new", "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(record, file)
    os.replace(f"{path}.new", path)  # noqa: PTH105


def read_all(folder: str) -> list[Record]:
    """Every record that can be read, by id. A broken file harms only itself: it is put aside."""
    found = []
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        if not name.endswith(_SUFFIX):
            continue
        path = f"{folder}/{name}"
        try:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123
                record = json.load(file)
        except (OSError, ValueError):
            record = None
        if isinstance(record, dict) and record.get("id") == name.removesuffix(_SUFFIX):
            found.append(record)
        else:
            os.replace(path, f"{path}.broken")  # noqa: PTH105
    return found


def remove(folder: str, container: str) -> None:
    """Forget the container. Twice is fine."""
    for suffix in (_SUFFIX, f"{_SUFFIX}.new"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{folder}/{container}{suffix}")  # noqa: PTH108
