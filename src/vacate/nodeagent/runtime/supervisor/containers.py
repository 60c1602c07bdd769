"""The containers of one supervisor: their processes, how they end, and what is on disk about them."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any

from vacate.nodeagent.runtime.supervisor import cgroups, procfs, records
from vacate.nodeagent.runtime.supervisor.logtimes import Marks
from vacate.nodeagent.runtime.supervisor.records import Record

_EMPTY_CHECKS = 3
"""How often in a row nothing must be found: processes fork while one looks."""
_MAX_EXEC_CHECKS = 300
"""How many looks in a row may be put off by an exec, which may be a stranger's that never ends."""


class Container:
    """One run of a container. It has ended when none of its processes is left, not with the first one."""

    def __init__(self, record: Record, home: str, *, child: bool) -> None:
        self.record = record
        record.setdefault("once", {})
        self.marker = procfs.marker(home, str(record["id"]))
        self.marks = Marks(str(record.get("log", "")))
        self.child = child  # whether its exit code will come by itself
        self.pidfd = -1  # readable when one that is no child ends
        self.code: int | None = None  # of the first process, once it has ended
        self._empty_looks = self._exec_looks = 0
        self.main_gone = False  # and reaped
        self.dying = False  # the first process has ended and is kept as a zombie while others are left

    @property
    def id(self) -> str:
        """Its name among the containers."""
        return str(self.record["id"])

    @property
    def ended(self) -> bool:
        """Whether every process is gone."""
        return self.record["exit"] is not None

    def signal(self, number: int) -> None:
        """Send the first process a signal; SIGKILL goes to all."""
        if self.ended:
            return
        if number == signal.SIGKILL:
            self.kill()
        elif not self.main_gone and procfs.alive(self.record["pid"], self.record["start"]):
            # A child is not reaped behind our back, so that its PID cannot be anyone else's meanwhile.
            with contextlib.suppress(ProcessLookupError):
                if self.pidfd >= 0:
                    signal.pidfd_send_signal(self.pidfd, number)
                else:
                    os.kill(self.record["pid"], number)

    def kill(self) -> None:
        """End every process of the container."""
        if self.record["cgroup"]:
            cgroups.kill(self.record["cgroup"])
            return
        procfs.kill(self._members())

    def emptied(self) -> bool:
        """Whether no process is left; those that are get killed once more."""
        if self.record["cgroup"]:
            if cgroups.populated(self.record["cgroup"]):
                cgroups.kill(self.record["cgroup"])
                return False
            return True
        left = self._members()
        procfs.kill(left)
        self._empty_looks = 0 if left else self._empty_looks + 1
        if self._empty_looks < _EMPTY_CHECKS:
            return False
        if self._exec_looks < _MAX_EXEC_CHECKS and procfs.executing():
            self._empty_looks, self._exec_looks = 0, self._exec_looks + 1
            return False
        # What was in the middle of an exec in all those looks may have ended it before that question.
        if left := self._members():
            procfs.kill(left)
            self._empty_looks = 0
        return not left

    def settled(self) -> bool:
        """Whether nothing is left of it, now that its first process is gone."""
        return (self.child and not self.record["cgroup"]) or self.emptied()

    def _members(self) -> list[int]:
        # Without the first process its PID may be a stranger's: then only the marker counts.
        known = not self.main_gone and (self.child or procfs.alive(self.record["pid"], self.record["start"]))
        return procfs.members({self.record["pid"]} if known else set(), self.marker)


def adopt(folder: str, home: str, boot: str) -> dict[str, Container]:
    """What an earlier supervisor left: some run on, and of those that ended since nobody knows the code."""
    found: dict[str, Container] = {}
    for record in records.read_all(folder):
        container = found[record["id"]] = Container(record, home, child=False)
        if container.ended:
            continue
        if record.get("boot") == boot and procfs.alive(record.get("pid", 0), record.get("start", 0)):
            with contextlib.suppress(OSError):
                container.pidfd = os.pidfd_open(record["pid"])
        if container.pidfd < 0:
            container.main_gone = True
    return found


def describe(container: Container) -> dict[str, Any]:
    """What is reported to the agent."""
    record = container.record
    return {key: record.get(key) for key in ("id", "labels", "pid", "started_at", "exit", "log")}
