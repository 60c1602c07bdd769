"""python -m hack.recording OUT.svg -- COMMAND...: run it on a terminal of 100 by 30 and write a picture."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from hack.recording.screen import Screen
from hack.recording.svg import Frame, animated

SIZE = (100, 30)
_APART = 0.7  # seconds between frames: a live view is drawn more often than a picture needs
_HOLD = 12.0


def record(command: list[str]) -> list[Frame]:
    """Run the command to its end; the screens that it showed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    variables = {
        name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
    }
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**variables, "TERM": "xterm-256color"},
    )
    os.close(theirs)
    screen, decoder = Screen(*SIZE), codecs.getincrementaldecoder("utf-8")("replace")
    screen.feed(f"$ {' '.join(command)}\r\n")
    began, frames = time.monotonic(), [(0.0, screen.shown())]
    try:
        while piece := os.read(ours, 65536):
            screen.feed(decoder.decode(piece))
            now = time.monotonic() - began
            if now - frames[-1][0] >= _APART and screen.shown() != frames[-1][1]:
                frames.append((now, screen.shown()))
    except OSError:  # the end of a pseudo-terminal on Linux
        pass
    os.close(ours)
    if process.wait():
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return [*frames, (time.monotonic() - began, screen.shown())]


def main() -> None:
    """Record, and write the picture."""
    out, _, *command = sys.argv[1:]
    frames = record(command)
    Path(out).write_text(animated(frames, SIZE, _HOLD, f"Recording of {' '.join(command)}"))
    print(f"{out}: {len(frames)} frames of {frames[-1][0]:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
