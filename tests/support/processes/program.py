"""Programs beside a cluster: what they print goes to a file, and they never outlive the tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from hack.kubelab.children import end_group, start_child

from support.waiting import LIMIT, until


class Program:
    """`python -m vacate …` in the background, started again as often as wanted."""

    def __init__(self, log: Path, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        self.arguments = arguments
        self._log = log
        self._env = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200", **(env or {})}
        self._child: subprocess.Popen[bytes] | None = None
        self._read_from = 0

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    @property
    def output(self) -> str:
        """What it has printed since its last start."""
        return self._log.read_bytes()[self._read_from :].decode(errors="replace")

    def start(self, *more: str) -> Program:
        assert not self.running
        self._log.touch()
        self._read_from = self._log.stat().st_size
        command = [sys.executable, "-m", "vacate", *self.arguments, *more]
        with self._log.open("ab") as out:
            self._child = start_child(command, stdout=out, env=self._env)
        return self

    def wait_for(self, pattern: str, seconds: float = LIMIT) -> str:
        """The first group of what it prints, once it does; fails when it has ended before."""

        def found() -> re.Match[str] | None:
            match = re.search(pattern, self.output)
            assert match or self.running, f"it has ended: {self.output}"
            return match

        match = until(found, seconds)
        assert match is not None
        return match[match.re.groups]

    def stop(self, seconds: float = LIMIT) -> int:
        """Ask it to end, and its exit code."""
        assert self._child is not None
        self._child.send_signal(signal.SIGTERM)
        return self._child.wait(seconds)

    def kill(self) -> None:
        """End it as a power cut would, or see that it has ended."""
        if self._child is not None:
            end_group(self._child)
