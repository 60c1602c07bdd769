"""`vacate manager` as a process of its own; it never outlives the test that started it."""

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
from pathlib import Path

from support.cluster_process import environment
from support.waiting import until


class ManagerProcess:
    """What it prints is collected all the time."""

    def __init__(self, kubeconfig: Path, *options: str) -> None:
        command = [sys.executable, "-m", "vacate", "manager", "--kubeconfig", str(kubeconfig)]
        self.process = subprocess.Popen(
            [*command, "--metrics-port", "0", *options],
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
        return "".join(self.lines)

    def address(self) -> str:
        found = re.search(r"http://127\.0\.0\.1:\d+", self.output)
        return found[0] if found else ""

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(until(self.address) + path, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(20)
        self._reader.join(20)
        return code


@contextlib.contextmanager
def managing(kubeconfig: Path, *options: str) -> Iterator[ManagerProcess]:
    manager = ManagerProcess(kubeconfig, *options)
    try:
        yield manager
    finally:
        if manager.process.poll() is None:
            manager.process.kill()
        manager.process.wait()
        assert manager.process.stdout is not None
        manager.process.stdout.close()
