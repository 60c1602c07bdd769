"""What the demo with real processes gathers from the logs of its service, and prints of them. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from vacate.api.objects import Obj
from vacate.cli.common.program import program_name
from vacate.cli.demo.service import HOOK_PATH, PORT, TERMINATED
from vacate.cli.demo.view import short
from vacate.cli.demo.workloads import deployment_of

WEB, REPLICAS = "web", 2
REASON = "resolve issue 354961"
_TERMINATED = re.compile(rf"(\S+) {TERMINATED} ([^:]*): (.*)")
_MAX_NAME = 11  # of a pod, shortened
_GRACE_SECONDS = 5


def deployment(python: str, program: str) -> Obj:
    """The service, two replicas of it; its hook is a request to itself."""
    container = {
        "name": WEB,
        "image": "none",
        "command": [python, "-I", program],
        "env": [{"name": "VERSION", "value": "1"}],
        "readinessProbe": {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1},
        "lifecycle": {"preStop": {"httpGet": {"path": HOOK_PATH, "port": PORT}}},
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": _GRACE_SECONDS}
    return deployment_of(WEB, REPLICAS, spec)


@dataclass(slots=True)
class PodLog:
    """What one pod of the service has logged."""

    pod: str
    lines: list[str] = field(default_factory=list)
    over: bool = False

    @property
    def termination(self) -> tuple[str, str, str]:
        """When, by whom and why it ended, by its own log; empty texts where that does not say so."""
        found = next(filter(None, map(_TERMINATED.match, self.lines)), None)
        return (found[1], found[2], found[3]) if found else ("", "", "")


def log_line(pod: str, line: str) -> str:
    """A line of a pod's log, below the step that caused it."""
    return f"  {short(pod).ljust(_MAX_NAME)} | {line}"


def fitted(line: str, width: int) -> list[str]:
    """The line on as many lines as the width needs."""
    indent = " " * min(_MAX_NAME + 5 if line.startswith("  ") else 3, width // 3)
    return textwrap.wrap(line, max(width, 20), subsequent_indent=indent, drop_whitespace=True) or [""]


def report(logs: Sequence[PodLog]) -> list[str]:
    """All ends as the service logged them, and what to try next: at most 24 lines."""
    rows = [("POD", "TERMINATED (UTC)", "BY", "REASON")]
    for log in sorted(logs, key=lambda log: log.termination):
        moment, cause, reason = log.termination
        rows.append((short(log.pod), moment[11:19], cause, reason))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    table = ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)) for row in rows]
    name = program_name()
    return [
        "When and why each pod was terminated, as its own log says",
        *(f"  {line}".rstrip() for line in table),
        "Try next",
        f"  {name} up --runtime process     a cluster of your own with such nodes",
        f"  {name} delete pod POD --reason TEXT    delete a pod and say why",
        "  docs/how-to/find-out-why-a-pod-was-terminated.md    pass it to your own hooks",
    ]
