"""The drop-in for logind that raises the limit of delays: `InhibitDelayMaxSec`."""

from __future__ import annotations

import math
from pathlib import Path

from vacate.client.privatefile import write_private

DROP_IN = "99-vacate.conf"
DEFAULT_FOLDER = Path("/etc/systemd/logind.conf.d")


def write(folder: Path, seconds: float, node: str) -> Path:
    """Write the file whole; raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    path = folder / DROP_IN
    text = f"{_owner(node)} needs this long to terminate its pods in order.\n"
    text += f"[Login]\nInhibitDelayMaxSec={math.ceil(seconds)}\n"
    write_private(path, text.encode("ascii"), mode=0o644)
    return path


def remove(folder: Path, node: str) -> Path | None:
    """Remove the file where it was written for this node; raises OSError."""
    path = folder / DROP_IN
    if not path.exists() or not path.read_text("utf-8", "replace").startswith(_owner(node)):
        return None
    path.unlink()
    return path


def _owner(node: str) -> str:
    return f"# Written by Vacate: node {node}"
