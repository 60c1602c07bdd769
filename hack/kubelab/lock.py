"""A lock in a file that also says who holds it. The kernel lets go of it when the holder dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from os import getpid
from pathlib import Path

from hack.kubelab.release import KubeError


class Lock:
    """One holder at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def holder(self) -> int:
        """The process that holds the lock, 0 where nobody does."""
        try:
            with self._path.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return 0
        except BlockingIOError:
            return int(self._path.read_text())
        return 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it in the block, or KubeError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise KubeError(f"{self._path} is held by process {self._path.read_text()}") from error
            file.truncate(0)
            file.write(str(getpid()))
            file.flush()
            yield
