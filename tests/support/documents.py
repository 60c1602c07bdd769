"""Documents whose commands are run: fenced `sh` blocks as they are, `console` blocks with what they show.

`vacate up` lines are for the terminal of the cluster and are kept apart; all other commands of a document are
run in one shell, in order, and the first that fails ends it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_UP = re.compile(r"^(?:\.venv/bin/)?vacate up\b(.*)$")
_MARK = "\x01"
# What differs from run to run: names of pods and their hashes, addresses, ages; and the wording of kubectl
# from version to version.
_VARIES = (
    (re.compile(r"\b(web)-[0-9a-z]+-[0-9a-z]{5}\b"), r"\1-NAME"),
    (re.compile(r"\b10(\.\d+){3}\b"), "IP"),
    (re.compile(r"(?<=[\s(])(\d+m)?\d+s(?=[\s:;,)]|$)"), "AGE"),
    (re.compile(r"\b\d{4}(-\d\d){2} \d\d(:\d\d){2} UTC\b"), "TIME"),
    (re.compile(r"(?<=IP)\s+node-\d"), " NODE"),
    (re.compile(r"^(node/\S+) evicted$"), r"\1 drained"),
    (re.compile(r"( deleted) from \S+ namespace$"), r"\1"),
)


@dataclass(frozen=True)
class Command:
    """One command, and the lines that the document shows below it; None where it shows none."""

    text: str
    shown: tuple[str, ...] | None = None

    @property
    def starts_cluster(self) -> bool:
        return _UP.match(self.text) is not None

    @property
    def options(self) -> list[str]:
        """The options of a `vacate up`."""
        found = _UP.match(self.text)
        assert found
        return found[1].split()


def commands_of(document: Path) -> list[Command]:
    """Every command of the document, in order."""
    found: list[Command] = []
    for kind, body in _BLOCK.findall(document.read_text()):
        found += _console(body) if kind == "console" else _script(body)
    return found


def run_all(commands: list[Command], folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run the commands in one shell; what each one printed. Fails with all output at the first failure."""
    lines = ["set -eu"]
    for command in commands:
        lines += [f"printf '{_MARK}\\n'", command.text]
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=220,
        cwd=folder,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.split(f"{_MARK}\n")[1:]


def differences(command: Command, printed: str) -> list[str]:
    """Lines that the document shows and the command did not print, what varies put aside."""
    lines = {_settled(line) for line in printed.splitlines()}
    return [line for line in command.shown or () if _settled(line) not in lines]


def _settled(line: str) -> str:
    for pattern, stands_for in _VARIES:
        line = pattern.sub(stands_for, line)
    return " ".join(line.split())


def _script(body: str) -> list[Command]:
    joined = body.replace("\\\n", " ")
    return [Command(line) for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def _console(body: str) -> list[Command]:
    found = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        text, *shown = part.splitlines()
        found.append(Command(text, tuple(line for line in shown if line.strip())))
    return found
