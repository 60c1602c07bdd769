"""The drop-in for logind that raises the limit of delays: `InhibitDelayMaxSec`."""

from __future__ import annotations

import math
from pathlib import Path

from vacate.client.privatefile import write_private

DROP_IN = "99-vacate.conf"
DEFAULT_FOLDER = Path("/etc/systemd/logind.conf.d")


def content(seconds: float) -> str:
    """The file's text."""
    return (
        "# Written by `vacate node`: it needs this long to terminate its pods in order.\n"
        f"[Login]\nInhibitDelayMaxSec={math.ceil(seconds)}\n"
    )


def write(folder: Path, seconds: float) -> Path:
    """Write the file whole; raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    path = folder / DROP_IN
    write_private(path, content(seconds).encode("ascii"), mode=0o644)
    return path
