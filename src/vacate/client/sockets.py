"""Sockets that notice when the other side is gone without a word: a machine that lost power, a cut cable."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

KEEPALIVE_IDLE = 30
"""Seconds without a byte after which the other side's system is asked whether it is still there."""

_KEEPALIVE_INTERVAL = 10  # seconds between two questions
_KEEPALIVE_PROBES = 3  # how many may remain without an answer

# What each system calls these, where it has them.
_OPTIONS = (
    ("TCP_KEEPIDLE", KEEPALIVE_IDLE),
    ("TCP_KEEPALIVE", KEEPALIVE_IDLE),
    ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL),
    ("TCP_KEEPCNT", _KEEPALIVE_PROBES),
    ("TCP_USER_TIMEOUT", 1000 * (KEEPALIVE_IDLE + _KEEPALIVE_PROBES * _KEEPALIVE_INTERVAL)),
)


def keepalive_socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket for an address as `getaddrinfo` gives it; a dead connection ends within a minute."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _OPTIONS:
        option = getattr(socket, name, None)
        if option is not None:
            with contextlib.suppress(OSError):  # known by name and not by the system: it does without
                made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made
