"""kubectl as its users know it: a command line, an exit code, tables. KUBECTL chooses the binary."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from support.waiting import LIMIT

Obj = dict[str, Any]
Row = dict[str, str]
_CELL = re.compile(r"\S+(?: \S+)*")


OLDEST = (1, 27)
"""What older ones print and ask differently is not worth a branch in every test."""
SHORT_LIVED = {"GOMAXPROCS": "1", "GOGC": "off"}
"""A process that lives for a few milliseconds has no use for threads and a garbage collector."""


@cache
def kubectl_or_reason() -> tuple[str | None, str]:
    """The binary under test, which KUBECTL names, else the first on the path; or why there is none."""
    found = shutil.which(os.environ.get("KUBECTL") or "kubectl")
    if found is None:
        return None, "kubectl is not installed"
    version = client_version(found)
    if version < OLDEST:
        return None, f"kubectl {version[0]}.{version[1]} is older than {OLDEST[0]}.{OLDEST[1]}"
    return found, ""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    command: str
    code: int
    out: str
    err: str

    def ok(self) -> str:
        """What a successful command printed."""
        assert self.code == 0, f"{self}"
        return self.out

    def failed(self, *parts: str, code: int = 1) -> str:
        """What a command that had to fail printed; each part must be in it, and no trace of a crash."""
        assert self.code == code, f"{self}"
        for part in parts:
            assert part in self.err, f"{part!r} not in: {self}"
        assert "panic:" not in self.err, f"{self}"
        return self.err

    def printed(self, *parts: str) -> str:
        """What a successful command printed; each part must be in it."""
        for part in parts:
            assert part in self.ok(), f"{part!r} not in: {self}"
        return self.out

    def lines(self) -> list[str]:
        """The printed lines of a successful command."""
        return self.ok().splitlines()

    def json(self) -> Any:
        """What was printed as JSON."""
        return json.loads(self.ok())

    def rows(self) -> list[Row]:
        """The printed table, a row as a mapping from column to cell."""
        return table_rows(self.ok())

    def row(self, name: str) -> Row:
        """The row of that name."""
        found = [row for row in self.rows() if row["NAME"] == name]
        assert len(found) == 1, f"{name}: {self}"
        return found[0]

    def columns(self) -> list[str]:
        """The headings of the printed table."""
        return [cell[0] for cell in _CELL.finditer(self.ok().splitlines()[0])]

    def __str__(self) -> str:
        return f"$ {self.command}\n[exit code {self.code}]\n{self.out}{self.err}"


class Kubectl:
    """Runs commands against one cluster, in one namespace."""

    def __init__(self, binary: str, kubeconfig: Path, home: Path, namespace: str = "default") -> None:
        self.binary = binary
        self.kubeconfig = kubeconfig
        self.namespace = namespace
        self._home = home
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
            **SHORT_LIVED,
        }

    def __call__(self, command: str, stdin: Any = None, *, around: Mapping[str, str] | None = None) -> Ran:
        """Run `kubectl COMMAND`; objects on standard input go as JSON; `around` is environment."""
        done = subprocess.run(
            self.argv(command),
            input=as_text(stdin),
            capture_output=True,
            text=True,
            timeout=100,
            env={**self.environment, **(around or {})},
            check=False,
        )
        return Ran(f"kubectl {command}", done.returncode, done.stdout, done.stderr)

    def until(self, command: str, shows: Callable[[Ran], object] = bool, seconds: float = LIMIT) -> Ran:
        """The same again until it succeeds and shows something, which clusters bring about in their time."""
        ends = time.monotonic() + seconds
        while (ran := self(command)).code != 0 or not shows(ran):
            assert time.monotonic() < ends, f"not within {seconds} s: {ran}"
        return ran

    def argv(self, command: str) -> list[str]:
        """The whole command line."""
        return [self.binary, "--namespace", self.namespace, *shlex.split(command)]

    def start(self, command: str) -> subprocess.Popen[str]:
        """Begin a command that goes on until it is ended; use it in a `with` and end it there."""
        return subprocess.Popen(
            self.argv(command),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def within(self, namespace: str) -> Kubectl:
        """The same in another namespace."""
        return Kubectl(self.binary, self.kubeconfig, self._home, namespace)


def client_version(binary: str) -> tuple[int, int]:
    """Major and minor version of a kubectl."""
    done = subprocess.run(
        [binary, "version", "--client", "-o", "json"], capture_output=True, text=True, timeout=60, check=True
    )
    version = json.loads(done.stdout)["clientVersion"]
    return int(version["major"]), int(re.match(r"\d+", version["minor"])[0])  # type: ignore[index]


def as_text(given: Any) -> str | None:
    """Standard input: text as it is, an object as JSON, several as a List."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, dict):
        return json.dumps(given)
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": given})


def table_rows(text: str) -> list[Row]:
    """A table whose columns begin where its headings begin."""
    lines = text.splitlines()
    heads = [(cell[0], cell.start()) for cell in _CELL.finditer(lines[0])] if lines else []
    ends = [start for _, start in heads[1:]] + [None]
    return [
        {name: line[start:end].strip() for (name, start), end in zip(heads, ends, strict=True)}
        for line in lines[1:]
    ]
