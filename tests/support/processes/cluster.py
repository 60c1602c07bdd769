"""`vacate up` as a process of its own, in a folder of its own; it never outlives the test that started it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from support.https import Https

READY = "Ctrl-C stops it"
_ADDRESS = re.compile(r"https://127\.0\.0\.1:\d+")
FAST_PODS = ("--pod-start", "0.05", "--pod-stop", "0.05")


class ClusterProcess:
    """What it prints is collected all the time, so that it never blocks on a full pipe."""

    def __init__(
        self, folder: Path, *options: str, port: int = 0, before_exec: Callable[[], None] | None = None
    ) -> None:
        self.folder = folder
        self._out: list[str] = []
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vacate", "up", "--dir", folder, "--port", str(port), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
            preexec_fn=before_exec,  # noqa: PLW1509  nothing in it takes a lock
            start_new_session=True,  # a group of its own, so that what it leaves behind can be seen
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        """All that it has printed, on both streams."""
        return "".join(self._out)

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def address(self) -> str:
        found = _ADDRESS.search(self.output)
        assert found, self.output
        return found[0]

    def wait_ready(self, seconds: float = 110.0) -> ClusterProcess:
        """Return once it says that it is up; fail with what it printed if it ended instead."""
        assert self._ready.wait(seconds), f"not up within {seconds} s: {self.output}"
        assert self.process.poll() is None or READY in self.output, self.output
        assert READY in self.output, f"it ended with {self.wait()}: {self.output}"
        return self

    def wait(self, seconds: float = 60.0) -> int:
        """Its exit code, once it has ended."""
        code = self.process.wait(seconds)
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

    def left_behind(self) -> bool:
        """Whether any process of its group still runs."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def https(self) -> Https:
        """Requests as the administrator."""
        return Https.from_kubeconfig(self.kubeconfig)

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
def cluster_process(
    folder: Path, *options: str, port: int = 0, before_exec: Callable[[], None] | None = None
) -> Iterator[ClusterProcess]:
    """A process that is gone at the end of the block, not yet waited for."""
    cluster = ClusterProcess(folder, *options, port=port, before_exec=before_exec)
    try:
        yield cluster
    finally:
        cluster.close()


@contextlib.contextmanager
def running_cluster(folder: Path, *options: str, port: int = 0) -> Iterator[ClusterProcess]:
    """A process that serves; killed at the end of the block unless the test stopped it."""
    with cluster_process(folder, *options, port=port) as cluster:
        yield cluster.wait_ready()


def vacate(*arguments: str, seconds: float = 100.0) -> subprocess.CompletedProcess[str]:
    """One `vacate` command that ends by itself."""
    command: Sequence[str] = [sys.executable, "-m", "vacate", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, env=environment(), check=False
    )


def environment() -> dict[str, str]:
    """The surroundings of a user's shell, wide enough that lines do not wrap.

    Without the machine's own certificates: no cluster here is known by them, and each process reads them all.
    """
    nobody = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}
    return {**os.environ, **nobody, "COLUMNS": "200"}
