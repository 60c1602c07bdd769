"""Ports for programs that must know theirs before they listen, reserved until this process ends.

A port that the kernel calls free may be given to another program before it is listened on. So ports are taken
from outside the range out of which the kernel gives them, to listeners and to outgoing connections alike, and
a lock for each keeps other processes of this laboratory off it.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hack.kubelab.release import KubeError

FIRST, LAST = 10_000, 29_999
"""Below the ports of Services (30000 to 32767), which API servers hold to be theirs."""
_KERNEL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOCKS = Path(tempfile.gettempdir()) / f"vacate-ports-{os.getuid()}"

_held: dict[int, int] = {}  # port to descriptor; the kernel unlocks when the process is gone


def reserve_ports(count: int, *, locks: Path = LOCKS) -> list[int]:
    """Ports that nobody listens on, and that no other caller is given while this process lives.

    KubeError where there are not so many.
    """
    locks.mkdir(mode=0o700, exist_ok=True)
    found: list[int] = []
    candidates = _candidates()
    start = random.randrange(len(candidates))  # most callers look at a free port first
    for port in (*candidates[start:], *candidates[:start]):
        if port not in _held and reserve(port, locks):
            found.append(port)
        if len(found) == count:
            return found
    release_ports(found)
    raise KubeError(f"{count} free ports are needed between {FIRST} and {LAST}, and there are {len(found)}")


def reserve_port() -> int:
    """One port."""
    return reserve_ports(1)[0]


def release_ports(ports: Sequence[int]) -> None:
    """Let others have them."""
    for port in ports:
        if (lock := _held.pop(port, None)) is not None:
            os.close(lock)


def reserve(port: int, locks: Path) -> bool:
    """Whether this very port is free, and reserved now."""
    lock = os.open(locks / str(port), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    if not _is_free(port):
        os.close(lock)
        return False
    _held[port] = lock
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as listeners do
        try:
            one.bind(("", port))
            one.listen()
        except OSError:
            return False
    return True


def _candidates() -> list[int]:
    low, high = kernel_range()
    return [port for port in range(FIRST, LAST + 1) if not low <= port <= high] or [*range(FIRST, LAST + 1)]


def kernel_range() -> tuple[int, int]:
    """The ports that the kernel gives by itself."""
    try:
        low, high = _KERNEL_RANGE.read_text().split()
    except FileNotFoundError:
        return 32_768, 65_535
    return int(low), int(high)
