"""One cgroup (version 2) for each container, where the machine allows: nothing escapes from it."""

from __future__ import annotations

import contextlib
import os

ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


def find_root() -> str:
    """Where a version 2 hierarchy is mounted in which this user may make groups; empty where none is."""
    for root in ROOTS:
        if os.path.exists(f"{root}/cgroup.procs") and os.access(root, os.W_OK):  # noqa: PTH110
            return root
    return ""


def create(path: str) -> None:
    """Make the group and those above it."""
    os.makedirs(path, exist_ok=True)  # noqa: PTH103


def enter(path: str) -> None:
    """Put the calling process into the group."""
    _write(f"{path}/cgroup.procs", "0")


def kill(path: str) -> None:
    """End every process of the group at once, forks under way included."""
    with contextlib.suppress(FileNotFoundError):
        _write(f"{path}/cgroup.kill", "1")


def populated(path: str) -> bool:
    """Whether a process is left in the group. Zombies do not count."""
    try:
        with open(f"{path}/cgroup.events", encoding="ascii") as file:  # noqa: PTH123
            return "populated 1" in file.read()
    except OSError:
        return False


def remove(path: str, top: str) -> bool:
    """Remove the group, and those above it up to `top` that are empty now; False while it is in use."""
    try:
        os.rmdir(path)  # noqa: PTH106
    except FileNotFoundError:
        pass
    except OSError:
        return False
    while path != top and path.startswith(top):
        path = os.path.dirname(path)  # noqa: PTH120
        try:
            os.rmdir(path)  # noqa: PTH106
        except OSError:
            break
    return True


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
