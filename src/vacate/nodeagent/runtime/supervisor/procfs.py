"""Processes as /proc shows them: who they are, whether they live, what belongs to a container."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

MARKER = "VACATE_CONTAINER"
"""Set in the environment of every process of a container; by it those that escaped their group are found."""

PROC = "/proc"
_FLAGS, _ENVIRONMENT_END = 6, 48  # of the fields of a process's stat, counted from its state
_KERNEL_THREAD = 0x00200000


def marker(home: str, container: str) -> str:
    """The value of the marker: other runtimes of the machine may have a container of the same name."""
    return f"{os.path.realpath(home)}/{container}"


def boot_id() -> str:
    """Which boot of the machine this is: a process of another one is gone."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123  without pathlib
        return file.read().strip()


def start_time(pid: int) -> int:
    """When the process started, in ticks since the boot: with the PID its identity. 0 where it is gone."""
    fields = _stat(pid)
    return int(fields[19]) if fields and fields[0] not in "ZX" else 0


def alive(pid: int, started: int) -> bool:
    """Whether that very process lives. A zombie does not: it only waits to be counted."""
    return pid > 0 and started > 0 and start_time(pid) == started


def members(leaders: set[int], value: str) -> list[int]:
    """Living processes of a container without a cgroup.

    Those are: descendants of its leaders, members of their sessions and groups, and processes that carry its
    marker. One that cleared its environment, left the session and lost its parent is not found.
    """
    table = {pid: fields for pid in _pids() if (fields := _stat(pid)) and fields[0] not in "ZX"}
    found = {pid for pid, fields in table.items() if pid in leaders or _in(fields, leaders)}
    marked = os.fsencode(f"{MARKER}={value}")
    found.update(pid for pid in table if pid not in found and marked in _environment(pid))
    while more := {pid for pid, fields in table.items() if pid not in found and int(fields[1]) in found}:
        found |= more
    return sorted(found - {os.getpid()})


def kill(pids: Iterable[int]) -> None:
    """End these processes, if they are there and ours."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def executing() -> bool:
    """Whether some process of the machine is in the middle of an exec, and cannot be known by its marker.

    It has given up its old environment, and the new one is not in place yet: nowhere, not even empty. That
    may take long where the program must be read from the disk first.
    """
    return any(_is_executing(pid) for pid in _pids())


def _is_executing(pid: int) -> bool:
    fields = _stat(pid)
    if len(fields) <= _ENVIRONMENT_END or fields[0] in "ZX" or int(fields[_FLAGS]) & _KERNEL_THREAD:
        return False
    return fields[_ENVIRONMENT_END] == "0" and _environment(pid) == [b""]


def _in(fields: list[str], leaders: set[int]) -> bool:
    return int(fields[2]) in leaders or int(fields[3]) in leaders


def _pids() -> list[int]:
    return [int(name) for name in os.listdir(PROC) if name.isdigit()]  # noqa: PTH208


def _stat(pid: int) -> list[str]:
    """The fields from the state on. The name before may hold spaces and brackets of its own."""
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].decode("ascii").split()
    except (OSError, ValueError):
        return []


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"{PROC}/{pid}/environ", "rb") as file:  # noqa: PTH123
            return file.read().split(b"\0")
    except OSError:
        return []
