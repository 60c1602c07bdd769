"""The supervisor's loop, in a process of its own: it reaps every child that it finds."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vacate.nodeagent.runtime.supervisor import cgroups

pytestmark = pytest.mark.process

# The command ends right after the supervisor has looked whether it has, in the same pass of its loop.
ENDS_BETWEEN_TWO_LOOKS = """
import os, signal, socket, sys
from vacate.nodeagent.runtime.supervisor import loop
from vacate.nodeagent.runtime.supervisor.containers import Container

supervisor = loop.Supervisor(sys.argv[1])
record = {"id": "c", "pid": os.getpid(), "start": 0, "cwd": "/", "user": None, "view": False, "cgroup": "",
          "exit": None}
supervisor.containers["c"] = Container(record, supervisor.home, child=True)
ours, theirs = socket.socketpair()
supervisor.clients.append(client := loop.Client(theirs))
supervisor.do_exec(client, {"id": "c", "argv": ["sleep", "1000"], "env": dict(os.environ), "timeout": 1000.0,
                            "number": 7})
(command,) = supervisor.execs
look = loop._ended

def looked_too_early(kind, pid):
    found = look(kind, pid)
    if kind == os.P_PID and pid == command:
        os.kill(command, signal.SIGKILL)
        os.waitid(os.P_PID, command, os.WEXITED | os.WNOWAIT)
    return found

loop._ended = looked_too_early
supervisor._reap()
loop._ended = look
supervisor._reap()
ours.setblocking(False)
sys.stdout.write(ours.recv(4096).decode())
"""


def test_a_command_that_ends_while_others_are_reaped_is_answered(tmp_path: Path) -> None:
    (tmp_path / "containers").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", ENDS_BETWEEN_TWO_LOOKS, str(tmp_path)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == '{"number": 7, "ok": {"code": 137, "timed_out": false, "output": ""}}\n', (
        done.stderr
    )


# Opened by whatever starts the supervisor, and inherited by it.
STARTED_WITH_A_DESCRIPTOR = """
import os, sys
from vacate.nodeagent.runtime.supervisor import main
from vacate.nodeagent.runtime.supervisor.loop import Supervisor
os.fstat(200)
Supervisor.run = lambda self, listener: print(os.path.exists("/proc/self/fd/200"), flush=True)
main.main(sys.argv[1])
"""


def test_what_its_starter_left_open_does_not_reach_containers(tmp_path: Path) -> None:
    with (tmp_path / "foreign").open("w") as foreign:
        fd = fcntl.fcntl(foreign.fileno(), fcntl.F_DUPFD, 200)
        try:
            assert fd == 200
            command = [sys.executable, "-c", STARTED_WITH_A_DESCRIPTOR, str(tmp_path)]
            done = subprocess.run(command, pass_fds=[fd], capture_output=True, text=True, check=True)
        finally:
            os.close(fd)
    assert done.stdout == "False\n"


# On a busy machine a process that was killed is there for a while: here, until the supervisor waits for it.
GIVEN_UP = """
import os, socket, sys, threading
from vacate.nodeagent.runtime.supervisor import cgroups, children, loop

folder, group = sys.argv[1:]
children.MAX_START = 0.2
if not cgroups.find_root():
    cgroups.enter = lambda path: None
kill = os.kill
os.kill = lambda *late: threading.Timer(0.5, kill, late).start()
os.mkfifo(f"{folder}/log")
supervisor = loop.Supervisor(folder)
supervisor.exit_at = 0.0
try:
    supervisor.do_start(None, {"id": "c", "argv": ["true"], "env": dict(os.environ), "cwd": folder,
                               "log": f"{folder}/log", "cgroup": f"{group}/c", "cgroup_top": group})
except children.StartError as error:
    print(error.step)
listener = socket.socket(socket.AF_UNIX)
listener.bind(f"{folder}/socket")
listener.listen()
supervisor.run(listener)
print(os.path.exists(group))
"""


def test_the_group_of_a_start_that_was_given_up_goes_with_its_child(tmp_path: Path) -> None:
    (tmp_path / "containers").mkdir()
    # Where no cgroup can be made, a folder takes its place, which nothing holds.
    group = f"{cgroups.find_root() or tmp_path}/vacate-test-{os.getpid()}"
    done = subprocess.run(
        [sys.executable, "-c", GIVEN_UP, str(tmp_path), group],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == "start\nFalse\n", done.stderr
