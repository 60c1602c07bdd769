"""The processes of a run: server, manager, interceptors; each ends with the block that began it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_LOOK = 0.05  # seconds between two looks at a process that starts
_TIMEOUT = 900.0


@dataclass
class Started:
    """A process, and when it was started."""

    process: subprocess.Popen[str]
    began: float = field(default_factory=time.perf_counter)

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        found = self.process.stdout.readline().strip()
        if not found:
            raise SystemExit(f"process {self.pid} ended with {self.process.wait()} before it was ready")
        return found

    def memory(self, what: str) -> float:
        """MiB of VmRSS, what it holds now, or VmHWM, what it ever held."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"{what}:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def started(*command: str) -> Iterator[Started]:
    """A Python process until the end of the block."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        yield Started(process)
    finally:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def server(folder: Path) -> Iterator[tuple[Started, Path]]:
    """The embedded API server alone, and its kubeconfig."""
    with started("-m", "bench.serve", str(folder)) as one:
        yield one, Path(one.line())


class Manager:
    """A `vacate manager` and its health endpoint."""

    def __init__(self, one: Started) -> None:
        self.started = one
        self._address = one.line().rpartition(" ")[2]

    def wait_ready(self) -> float:
        """Seconds from the start of the process until it is ready."""
        self._until(lambda: self._get("/readyz") is not None)
        return time.perf_counter() - self.started.began

    @property
    def leads(self) -> bool:
        """Whether it holds the lease. Costs what its metrics cost."""
        return sum_of(self._get("/metrics") or "", "leader_election_master_status") == 1.0

    def wait_idle(self) -> float:
        """Seconds from the start of the process until it has come to rest.

        Seen from outside: its metrics have a series for each request, and asking for them is work.
        """
        used, ended = -1.0, time.perf_counter()
        while self.started.cpu() > used + 0.1:
            used, ended = self.started.cpu(), time.perf_counter()
            time.sleep(1.0)
        return ended - self.started.began

    def _get(self, path: str) -> str | None:
        try:
            with urllib.request.urlopen(self._address + path, timeout=120) as answer:
                return str(answer.read().decode())
        except urllib.error.URLError:
            return None

    def _until(self, ask: Callable[[], bool]) -> None:
        ends = time.perf_counter() + _TIMEOUT
        while not ask():
            if time.perf_counter() > ends:
                raise SystemExit("the manager did not get there in time")
            time.sleep(_LOOK)


@contextmanager
def manager(kubeconfig: Path, options: Sequence[str] = ()) -> Iterator[Manager]:
    """A manager process that has begun to start."""
    command = ("-u", "-m", "vacate", "manager", "--kubeconfig", str(kubeconfig), "--metrics-port", "0")
    with started(*command, *options) as one:
        yield Manager(one)


def sum_of(metrics: str, name: str, *labels: str) -> float:
    """The sum of all series of a name that carry the labels, given as they are written."""
    lines = (line for line in metrics.splitlines() if line.startswith((name + "{", name + " ")))
    return sum(float(line.rpartition(" ")[2]) for line in lines if all(label in line for label in labels))
