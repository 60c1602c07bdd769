"""Connections of agents, and the commands that run for them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import Any


class Exec:
    """A command under way beside a container."""

    def __init__(self, pid: int, output: int, deadline: float, client: Client, number: int) -> None:
        self.pid, self.output, self.deadline, self.client, self.number = pid, output, deadline, client, number
        self.text = b""
        self.timed_out = False


class Client:
    """One connection of an agent."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.received = b""
        self.descriptors: list[int] = []  # that came with a request
        self.containers_end_too = False  # with the connection, however the agent ended

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
