"""However a run ends, nothing of it is left on the machine: no process, no control group, no folder."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hack.nodelab.cgroups import PREFIX, hierarchies, make_groups, remove_groups

from support.waiting import until

pytestmark = pytest.mark.kube

ROOT = Path(__file__).parents[3]
# It starts a supervisor and says who it is, as the session does.
_RUNNER = """
import subprocess, sys
command = ["sh", "-c", "echo $1; sleep 98765 & wait", "sh", "PLACE"]
supervisor = [sys.executable, "-m", "hack.nodelab.supervisor", *command]
supervisor = subprocess.Popen(supervisor, stdin=subprocess.PIPE, start_new_session=True)
print(supervisor.pid, flush=True)
supervisor.wait()
"""


@dataclass
class Run:
    """A supervisor with its work, and who waits for it."""

    runner: subprocess.Popen[str]
    supervisor: int
    place: Path

    def groups(self) -> list[Path]:
        found = (tree.place / f"{PREFIX}{self.supervisor}" for tree in hierarchies())
        return [one for one in found if one.exists()]


@pytest.fixture
def run() -> Iterator[Run]:
    runner = subprocess.Popen([sys.executable, "-c", _RUNNER], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with runner:
        assert runner.stdout is not None
        supervisor = int(runner.stdout.readline())
        place = Path(runner.stdout.readline().strip())
        yield Run(runner, supervisor, place)
        for number in (runner.pid, supervisor):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_a_waiting_process_is_killed(run: Run, how: signal.Signals) -> None:
    assert run.groups()
    assert run.place.is_dir()
    until(_sleepers)
    run.runner.send_signal(how)
    until(lambda: not (_sleepers() or run.groups() or run.place.exists()))


def test_the_supervisor_is_killed(run: Run) -> None:
    until(_sleepers)
    os.kill(run.supervisor, signal.SIGKILL)
    # Groups of a process are left alone while it is known, as it is until somebody has waited for it.
    until(lambda: not (_sleepers() or Path("/proc", str(run.supervisor)).exists()))
    assert run.groups()
    remove_groups(make_groups(f"{PREFIX}{os.getpid()}"))
    assert not run.groups()
    run.place.rmdir()


def _sleepers() -> list[str]:
    return [one.name for one in Path("/proc").iterdir() if one.name.isdigit() and _is_sleeper(one)]


def _is_sleeper(process: Path) -> bool:
    with contextlib.suppress(OSError):
        return (process / "cmdline").read_bytes() == b"sleep\x0098765\x00"
    return False
