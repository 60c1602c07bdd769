"""Commands that run beside containers: their output, their time, and what they came to."""

from __future__ import annotations

import contextlib
import os
from selectors import BaseSelector
from typing import Any

from vacate.nodeagent.runtime.supervisor import procfs
from vacate.nodeagent.runtime.supervisor.connections import Client

_OUTPUT = 10 * 1024  # as much as anyone reads in an event


class Exec:
    """A command under way. Its output is registered with the selector until it ends."""

    def __init__(
        self,
        pid: int,
        output: int,
        deadline: float,
        waiting: list[tuple[Client, int]],  # who is answered, and to which request
        container: str,
        once: str,
    ) -> None:
        self.pid, self.output, self.deadline, self.waiting = pid, output, deadline, waiting
        self.container, self.once = container, once
        self.text = b""
        self.timed_out = False

    def collect(self, selector: BaseSelector) -> None:
        """Read what it has printed."""
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(self.output, 65536)
            self.text = (self.text + chunk)[:_OUTPUT]
            if not chunk:
                self._close(selector)

    def finish(self, selector: BaseSelector, code: int) -> dict[str, Any]:
        """It has ended: read the rest, and say what it came to."""
        if self.output >= 0:
            self.collect(selector)
        if self.output >= 0:
            self._close(selector)
        return {"code": code, "timed_out": self.timed_out, "output": self.text.decode(errors="replace")}

    def end_late(self, now: float) -> None:
        """End it with all that it has started, once, if it takes too long."""
        if now >= self.deadline and not self.timed_out:
            self.timed_out = True
            procfs.kill(procfs.members({self.pid}, ""))

    def _close(self, selector: BaseSelector) -> None:
        selector.unregister(self.output)
        os.close(self.output)
        self.output = -1
