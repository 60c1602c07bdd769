"""`vacate webhook` as a process of its own; it never outlives the test that started it."""

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

_REVIEWS = re.compile(r"taking reviews on https://127\.0\.0\.1:(\d+)")
_HEALTH = re.compile(r"health and metrics on (http://127\.0\.0\.1:\d+)")


class WebhookProcess:
    """What it prints is collected all the time."""

    def __init__(self, kubeconfig: Path, *options: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "vacate", "webhook", "--kubeconfig", str(kubeconfig)]
        self.process = subprocess.Popen(
            [*command, "--address", "127.0.0.1", "--port", str(port), "--metrics-port", "0", *options],
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

    @property
    def port(self) -> int:
        """Where it takes reviews, once it does."""
        return int(self._said(_REVIEWS))

    def get(self, path: str) -> tuple[int, str]:
        """Health and metrics."""
        try:
            with urllib.request.urlopen(self._said(_HEALTH) + path, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def wait_ready(self) -> WebhookProcess:
        """Return once it says so itself."""
        until(lambda: self.process.poll() is not None or self.get("/readyz")[0] == 200)
        assert self.process.poll() is None, self.output
        return self

    def wait(self, seconds: float = 20.0) -> int:
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

    def _said(self, pattern: re.Pattern[str]) -> str:
        until(lambda: pattern.search(self.output) or self.process.poll() is not None)
        found = pattern.search(self.output)
        assert found, self.output
        return found[1]


@contextlib.contextmanager
def running_webhook(kubeconfig: Path, *options: str, port: int = 0) -> Iterator[WebhookProcess]:
    """A webhook for as long as the block runs."""
    webhook = WebhookProcess(kubeconfig, *options, port=port)
    try:
        yield webhook
    finally:
        if webhook.process.poll() is None:
            webhook.process.kill()
        webhook.wait()
