"""`vacate up` as a process of its own, in a folder of its own; it never outlives the test that started it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from support.https import Https
from vacate import testing

FAST_PODS = ("--pod-start", "0.05", "--pod-stop", "0.05")


class ClusterProcess(testing.ClusterProcess):
    """The process of the test kit, with requests past every client of ours."""

    def environment(self) -> dict[str, str]:
        return environment()

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
    return {**os.environ, **nobody, "COLUMNS": "200", "PYTHONFAULTHANDLER": "1"}
