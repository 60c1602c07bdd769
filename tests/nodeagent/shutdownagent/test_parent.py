"""The parent of the agent: real processes, and a pipe in place of a lock, of which the other end is seen."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.waiting import until
from vacate.nodeagent.shutdownagent import launcher
from vacate.nodeagent.shutdownagent.heldlock import ParentLock, ParentLost

pytestmark = pytest.mark.process

# An agent of a few lines: it hands a lock over where none is held, and says what the parent holds.
AGENT = f"""
import asyncio, os, signal, socket, sys
from vacate.nodeagent.shutdownagent.heldlock import ParentLock

async def main():
    if os.path.exists(sys.argv[1] + ".broken"):
        os._exit(3)
    holder = ParentLock(socket.socket(fileno=int(os.environ["{launcher.SOCKET}"])))
    held = await holder.holds()
    if held:
        open(sys.argv[1] + ".left", "a").write(f"{{held.left_at}} ")
    if not held and "never" not in sys.argv:
        await holder.hold(os.open(sys.argv[1], os.O_WRONLY), float(sys.argv[2]))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print("held" if held else "took", os.getpid(), os.environ.get("{launcher.STOPPING}", ""), flush=True)
    if "crash" in sys.argv:
        os._exit(3)
    if "listen" in sys.argv and not held:
        await holder.holds(listening=True)
        print("listened", os.getpid(), flush=True)
    if "release" in sys.argv:
        await holder.release()
    while True:
        signal.pause()

asyncio.run(main())
"""

# The parent, with a clock that is an hour ahead once there is a file.
PARENT = f"""
import os, sys, time
real = time.monotonic
time.monotonic = lambda: real() + 3600.0 * os.path.exists(sys.argv[1])
from {launcher.__name__} import Parent
sys.exit(Parent(sys.argv[2:]).run())
"""

# The same, that gets a signal in the moment in which it starts an agent.
SIGNALLED_AT_START = f"""
import os, signal, subprocess, sys
real = subprocess.Popen
def popen(*args, **options):
    made = real(*args, **options)
    os.kill(os.getpid(), signal.SIGTERM)
    return made
subprocess.Popen = popen
from {launcher.__name__} import Parent
sys.exit(Parent(sys.argv[2:]).run())
"""


class Run:
    def __init__(self, folder: Path, *more: str, program: str = PARENT) -> None:
        lock, self._log, self.hour = folder / "lock", folder / "log", folder / "hour"
        os.mkfifo(lock)
        self.reader = os.open(lock, os.O_RDONLY | os.O_NONBLOCK)
        command = [sys.executable, "-c", AGENT, str(lock), *more]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, str(self.hour), *command], stdout=log, stderr=log
            )

    @property
    def lines(self) -> list[str]:
        """Those that are whole: without a buffer an agent prints them word by word."""
        return self._log.read_text().rpartition("\n")[0].splitlines()

    def held(self) -> bool:
        return not select.select([self.reader], [], [], 0)[0]

    def agent(self) -> int:
        return int(self.lines[-1].split()[1])


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Run]]:
    made: list[Run] = []
    yield made
    for one in made:
        one.process.kill()
        one.process.wait()
        if one.lines and one.lines[-1].split()[0] in ("held", "took"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.agent(), signal.SIGKILL)
        os.close(one.reader)


@pytest.mark.thorough
def test_an_agent_that_is_killed_is_started_again_and_its_lock_stays_held(
    tmp_path: Path, started: list[Run]
) -> None:
    run = Run(tmp_path, "60")
    started.append(run)
    until(lambda: run.lines[:1] and run.lines[0].startswith("took"))
    first, before = run.agent(), time.monotonic()
    os.kill(first, signal.SIGKILL)
    until(lambda: len(run.lines) == 3)
    assert run.held()
    assert "ended with -9 and is started again" in run.lines[1]
    assert run.lines[2].startswith("held")
    assert run.agent() != first
    os.kill(run.agent(), signal.SIGKILL)  # it may have seen nothing: what counts is when the first one ended
    until(lambda: len(run.lines) == 5)
    since, again = (tmp_path / "lock.left").read_text().split()
    assert before <= float(since) == float(again) < time.monotonic() - 1.0


@pytest.mark.thorough
def test_an_agent_that_is_stopped_and_then_killed_left_when_it_last_listened(
    tmp_path: Path, started: list[Run]
) -> None:
    run = Run(tmp_path, "60", "listen")
    started.append(run)
    until(lambda: len(run.lines) == 2 and run.lines[1].startswith("listened"))
    listened = time.monotonic()
    os.kill(run.agent(), signal.SIGSTOP)
    until(lambda: time.monotonic() > listened)
    os.kill(run.agent(), signal.SIGKILL)
    until(lambda: len(run.lines) == 4 and run.lines[3].startswith("held"))
    assert float((tmp_path / "lock.left").read_text()) <= listened


@pytest.mark.thorough
def test_an_agent_that_was_silent_for_an_hour_loses_no_lock_when_it_is_killed(
    tmp_path: Path, started: list[Run]
) -> None:
    run = Run(tmp_path, "60")
    started.append(run)
    until(lambda: run.lines[:1] and run.lines[0].startswith("took"))
    run.hour.touch()
    os.kill(run.agent(), signal.SIGKILL)
    until(lambda: len(run.lines) >= 3)
    assert run.lines[2].startswith("held")
    assert run.held()


@pytest.mark.thorough
def test_a_lock_that_no_agent_comes_for_is_released(tmp_path: Path, started: list[Run]) -> None:
    run = Run(tmp_path, "0.1", "crash")
    started.append(run)
    until(lambda: any("no agent comes up" in one for one in run.lines))
    until(lambda: not run.held())


@pytest.mark.thorough
def test_agents_that_crash_at_their_start_keep_no_lock(tmp_path: Path, started: list[Run]) -> None:
    run = Run(tmp_path, "3")  # longer than from one start to the next
    started.append(run)
    until(lambda: run.lines[:1] and run.lines[0].startswith("took"))
    (tmp_path / "lock.broken").touch()
    os.kill(run.agent(), signal.SIGKILL)
    until(lambda: any("no agent comes up" in one for one in run.lines))
    until(lambda: not run.held())


@pytest.mark.thorough
def test_a_signal_goes_to_the_agent_and_ends_both(tmp_path: Path, started: list[Run]) -> None:
    run = Run(tmp_path, "60")
    started.append(run)
    until(lambda: run.lines[:1] and run.lines[0].startswith("took"))
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(60) == 0
    assert not run.held()


def test_a_signal_in_the_moment_of_a_start_reaches_the_agent(tmp_path: Path, started: list[Run]) -> None:
    run = Run(tmp_path, "60", "never", program=SIGNALLED_AT_START)
    started.append(run)
    assert run.process.wait(60) in (0, 128 + signal.SIGTERM)


@pytest.mark.thorough
def test_an_agent_that_crashes_while_its_pod_ends_learns_that_it_is_ending(
    tmp_path: Path, started: list[Run]
) -> None:
    run = Run(tmp_path, "60")
    started.append(run)
    until(lambda: run.lines[:1] and run.lines[0].startswith("took"))
    os.kill(run.agent(), signal.SIGSTOP)
    run.process.send_signal(signal.SIGTERM)
    os.kill(run.agent(), signal.SIGKILL)
    until(lambda: len(run.lines) >= 3)
    assert run.lines[2].split()[0::2] == ["held", "1"]


def test_a_released_lock_is_closed(tmp_path: Path, started: list[Run]) -> None:
    run = Run(tmp_path, "60", "release")
    started.append(run)
    until(lambda: run.lines and not run.held())


async def test_a_parent_that_is_gone_is_an_error_of_its_own(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        holder = ParentLock(theirs)
        ours.close()
        with pytest.raises(ParentLost):
            await holder.holds()
