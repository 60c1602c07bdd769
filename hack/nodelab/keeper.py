"""Keeps the namespaces for as long as its standard input is open, and clears up behind them.

The kernel closes it when the process at its other end is gone, however that ended.

    python -m hack.nodelab.keeper ARGUMENTS OF hack.nodelab.inside, but for the place
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from hack.kubelab.children import end_group, start_child
from hack.nodelab.cgroups import PREFIX, make_groups, remove_groups
from hack.nodelab.inside import PROCESS
from hack.nodelab.rooms import enter

# The process itself goes into the groups, and everything that it starts is born there.
_ENTER_GROUPS = f'for group; do test "$group" = -- && break; echo $$ > "$group/cgroup.procs"; shift; done; shift; {PROCESS}=$$ exec "$@"'


def keep(arguments: list[str]) -> int:
    """Run until the work is done or nobody waits for it any more; its exit code."""
    groups = make_groups(f"{PREFIX}{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory(prefix="vacate-node-") as place:
            words = [*enter(network=True), sys.executable, "-m", "hack.nodelab.inside", place, *arguments]
            command = ["sh", "-c", _ENTER_GROUPS, "sh", *map(str, groups), "--", *words]
            child = start_child(command, stdout=None, stderr=None)
            try:
                _wait(child)
            finally:
                end_group(child)
            return child.returncode
    finally:
        remove_groups(groups)


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
        signal.signal(number, signal.SIG_IGN)
    sys.exit(keep(sys.argv[1:]) & 0xFF)


if __name__ == "__main__":
    main()
