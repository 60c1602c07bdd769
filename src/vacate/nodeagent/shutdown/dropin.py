"""The drop-in for logind that raises the limit of delays: `InhibitDelayMaxSec`."""

from __future__ import annotations

import math
import os
from pathlib import Path

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
    scratch = folder / f".{DROP_IN}.{os.getpid()}"
    try:
        with scratch.open("w", encoding="ascii") as file:
            file.write(content(seconds))
            file.flush()
            os.fsync(file.fileno())
        scratch.chmod(0o644)
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
    return path
