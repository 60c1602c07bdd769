"""`vacate up` as a process of its own, in a folder of its own; it never outlives the test that started it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from vacate.testing.live import LiveCluster

READY = "Ctrl-C stops it"
_ADDRESS = re.compile(r"https://127\.0\.0\.1:\d+")


class ClusterProcess(LiveCluster):
    """What it prints is collected all the time, so that it never blocks on a full pipe."""

    def __init__(
        self, folder: Path, *options: str, port: int = 0, before_exec: Callable[[], None] | None = None
    ) -> None:
        super().__init__(folder / "kubeconfig")
        self.folder = folder
        self._out: list[str] = []
        self._ready = threading.Event()
        self.process = subprocess.Popen(  # noqa: S603  the options are those of the test
            [sys.executable, "-m", "vacate", "up", "--dir", folder, "--port", str(port), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment(),
            preexec_fn=before_exec,  # noqa: PLW1509  nothing in it takes a lock
            start_new_session=True,  # a group of its own, so that what it leaves behind can be seen
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def environment(self) -> dict[str, str]:
        """The environment of the process: wide enough that lines do not wrap."""
        return {**os.environ, "COLUMNS": "200", "PYTHONFAULTHANDLER": "1"}

    @property
    def output(self) -> str:
        """All that it has printed, on both streams."""
        return "".join(self._out)

    @property
    def address(self) -> str:
        """The URL of its API server."""
        found = _ADDRESS.search(self.output)
        if found is None:
            raise RuntimeError(f"it has not printed where it listens: {self.output}")
        return found[0]

    def wait_ready(self, seconds: float = 110.0) -> Self:
        """Return once it says that it is up; an error with what it printed where it ended instead."""
        if not self._ready.wait(seconds):
            raise TimeoutError(f"not up within {seconds:g} s: {self.output}")
        if READY not in self.output:
            raise RuntimeError(f"it ended with {self.wait()}: {self.output}")
        return self

    def wait(self, seconds: float = 150.0) -> int:
        """Its exit code, once it has ended."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # it prints where each of its threads is
            self._reader.join(seconds)
            raise TimeoutError(f"not ended within {seconds:g} s: {self.output}") from None
        self._reader.join(seconds)
        return code

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end, and its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def kill(self) -> None:
        """End it as a power cut of the process would."""
        self.process.kill()
        self.wait()

    def close(self) -> None:
        """Whatever happened: it is gone afterwards."""
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._out.append(line)
            if READY in line:
                self._ready.set()
        self._ready.set()


@contextlib.contextmanager
def running_cluster(folder: Path, *options: str, port: int = 0) -> Iterator[ClusterProcess]:
    """`vacate up` with these options, its data in the folder, for the length of the block."""
    cluster = ClusterProcess(folder, *options, port=port)
    try:
        yield cluster.wait_ready()
    finally:
        cluster.close()
