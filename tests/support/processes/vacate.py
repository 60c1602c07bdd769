"""A command of Vacate that stays, as a process of its own; it never outlives the test that started it."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import TypeVar

from support.processes.cluster import environment
from support.waiting import LIMIT, until

_HEALTH = re.compile(r"health and metrics on (http://127\.0\.0\.1:\d+)")


class VacateProcess:
    """What it prints is collected all the time."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vacate", *arguments, "--metrics-port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment() | {"PYTHONUNBUFFERED": "1"},
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(iter(self.process.stdout.readline, ""))

    @property
    def output(self) -> str:
        """All that it has printed, on both streams."""
        return "".join(self.lines)

    def get(self, path: str) -> tuple[int, str]:
        """Health and metrics."""
        try:
            with urllib.request.urlopen(self.printed(_HEALTH) + path, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def wait(self, seconds: float = LIMIT) -> int:
        """Its exit code, once it has ended."""
        code = self.process.wait(seconds)
        self._reader.join(seconds)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end, and its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def printed(self, pattern: re.Pattern[str]) -> str:
        """The first group of what it prints, once it does; fails when it has ended before."""
        until(lambda: pattern.search(self.output) or self.process.poll() is not None)
        found = pattern.search(self.output)
        assert found, self.output
        return found[1]


P = TypeVar("P", bound=VacateProcess)


@contextlib.contextmanager
def ended_after(process: P) -> Iterator[P]:
    """The process for the length of the block, and not a moment longer."""
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.process.kill()
        process.wait()
