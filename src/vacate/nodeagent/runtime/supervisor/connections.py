"""Connections of agents: where they come in, the requests that arrive, the answers that are sent."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import Any

SOCKET = "supervisor.sock"
MAX_REQUEST = 4 * 1024 * 1024


class Client:
    """One connection of an agent."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.received = b""
        self.descriptors: list[int] = []  # that came with a request
        self.containers_end_too = False  # with the connection, however the agent ended
        self.agent = ""  # whose connection it is, while that runs
        self.listened_at: float | None = None  # when it last said that it hears logind

    def receive(self) -> list[bytes] | None:
        """The requests that are complete by now; None where the connection is over, or sends too much."""
        try:
            chunk, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 4, socket.MSG_CMSG_CLOEXEC)
            self.descriptors += descriptors
        except OSError:
            chunk = b""
        self.received += chunk
        if not chunk or len(self.received) > MAX_REQUEST:
            return None
        *lines, self.received = self.received.split(b"\n")
        return lines

    def send(self, message: dict[str, Any]) -> None:
        """Messages are small and the agent reads all the time; one that does not is dropped."""
        with contextlib.suppress(OSError):
            self.socket.sendall(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        """Close the connection, and descriptors that no request took."""
        self.socket.close()
        for fd in self.descriptors:
            os.close(fd)
        self.descriptors.clear()
