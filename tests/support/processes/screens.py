"""What a command shows, in a pipe and on a pseudo-terminal of a given size."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from support.processes.cluster import environment

OWN_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""Styles and movements, such as live views use."""


@dataclass(frozen=True)
class Shown:
    """How a command ended, and all that it wrote, standard error too."""

    code: int
    text: str

    @property
    def plain(self) -> str:
        """The text without styles and movements."""
        return OWN_SEQUENCE.sub("", self.text).replace("\r\n", "\n")


def run(
    *arguments: str,
    variables: Mapping[str, str],
    terminal: tuple[int, int] | None = None,
    stop_when: Callable[[str], bool] | None = None,
    seconds: float = 110.0,
    typed: tuple[str, str] | None = None,
) -> Shown:
    """Run to the end, or interrupt it once what was shown is enough; `terminal` is (columns, lines).

    `typed` is a text that is waited for on the terminal, and what is typed then.
    """
    ours, theirs = pty.openpty() if terminal else os.pipe()
    if terminal:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", terminal[1], terminal[0], 0, 0))
    around = {name: value for name, value in environment().items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "vacate", *arguments],
        stdin=theirs if typed else subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**around, "TERM": "xterm-256color", "PYTHONUNBUFFERED": "1", **variables},
    )
    os.close(theirs)
    deadline = threading.Timer(seconds, process.kill)
    deadline.start()
    shown, stopped = b"", False
    try:
        while piece := os.read(ours, 65536):
            shown += piece
            if typed is not None and typed[0] in shown.decode(errors="replace"):
                os.write(ours, typed[1].encode())
                typed = None
            if stop_when is not None and not stopped and stop_when(shown.decode(errors="replace")):
                stopped = True
                process.send_signal(signal.SIGINT)
    except OSError:  # how Linux tells that nobody has the other side of a terminal open
        pass
    finally:
        os.close(ours)
        code = process.wait()
        deadline.cancel()
    return Shown(code, shown.decode(errors="surrogateescape"))
