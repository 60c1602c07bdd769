"""Runs a command in namespaces and control groups of its own for as long as its standard input is open.

The kernel closes it when the process at its other end is gone, however that ended; then everything in the
namespaces is killed, and what is left of them on the machine is removed.

    python -m hack.nodelab.supervisor COMMAND…

In the arguments of the command, PLACE stands for an empty folder.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hack.kubelab.children import end_group, start_child
from hack.nodelab.cgroups import PREFIX, make_groups, remove_groups
from hack.nodelab.chroot import enter

PLACE = "PLACE"
PROCESS = "VACATE_NODE_PROCESS"
"""Names to the command the process on the machine whose child it is."""

# The process itself goes into the groups, and everything that it starts is born there.
_ENTER_GROUPS = f"""
while test "$1" != --; do echo $$ > "$1/cgroup.procs"; shift; done
shift; {PROCESS}=$$ exec "$@"
"""


def keep(command: Sequence[str]) -> int:
    """Run until the work is done or nobody waits for it any more; its exit code."""
    groups = make_groups(f"{PREFIX}{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory(prefix="vacate-node-") as place:
            child = start_child(in_groups(groups, place, command), stdout=None, stderr=None)
            try:
                _wait(child)
            finally:
                end_group(child)
            return child.returncode
    finally:
        remove_groups(groups)


def in_groups(groups: Sequence[Path], place: str, command: Sequence[str]) -> list[str]:
    """The command line that enters groups and namespaces."""
    words = [place if word == PLACE else word for word in command]
    return ["sh", "-ec", _ENTER_GROUPS, "sh", *map(str, groups), "--", *enter(network=True), *words]


def _wait(child: subprocess.Popen[bytes]) -> None:
    ended = os.pidfd_open(child.pid)
    try:
        ready, _, _ = select.select([ended, sys.stdin.fileno()], [], [])
        if ended in ready:
            child.wait()
    finally:
        os.close(ended)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Not SIG_IGN: every program in the namespaces would inherit it.
        signal.signal(number, lambda _number, _frame: None)
    sys.exit(keep(sys.argv[1:]) & 0xFF)


if __name__ == "__main__":
    main()
