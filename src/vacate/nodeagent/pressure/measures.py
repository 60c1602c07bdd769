"""What the machine has left of memory and of the disk that holds the pods' folders."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from vacate.nodeagent.pressure.thresholds import DISK, INODES, MEMORY, Measure

_MEMINFO = Path("/proc/meminfo")


def measure(signals: Collection[str], folder: Path) -> dict[str, Measure]:
    """The signals that can be measured; OSError where the kernel does not report them."""
    found: dict[str, Measure] = {}
    if MEMORY in signals:
        found[MEMORY] = memory()
    if DISK in signals or INODES in signals:
        disk = os.statvfs(folder)
        found[DISK] = Measure(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize)
        if disk.f_files:  # some file systems have as many as they have space for
            found[INODES] = Measure(disk.f_favail, disk.f_files)
    return found


def memory() -> Measure:
    """Of the machine, in bytes."""
    amounts = {}
    for line in _MEMINFO.read_text("ascii").splitlines():
        name, _, rest = line.partition(":")
        if name in ("MemTotal", "MemAvailable"):
            amounts[name] = int(rest.split()[0]) * 1024
    return Measure(amounts["MemAvailable"], amounts["MemTotal"])
