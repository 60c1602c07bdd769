"""The descriptor of logind's lock, which a parent process holds for an agent that may restart meanwhile."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from vacate.nodeagent.runtime.supervisor.connections import Client


class HeldLock:
    """One at a time. It is closed when no agent was there for its time: nobody would ever release it."""

    def __init__(self) -> None:
        self._fd: int | None = None
        self._orphan_seconds = 0.0
        self._owner = ""  # the agent that handed it over
        self._alone_since: float | None = None
        self.left_at: float | None = None
        """When the agent ended that handed it over: those after it may have seen nothing."""

    def __bool__(self) -> bool:
        """Whether it is held."""
        return self._fd is not None

    def hold(self, fd: int, orphan_seconds: float, agent: str) -> None:
        """Take a descriptor, in place of one that is held."""
        self.release()
        os.set_inheritable(fd, False)
        self._fd, self._orphan_seconds = fd, orphan_seconds
        self._owner, self.left_at = agent, None

    def leave(self, agent: str, now: float) -> None:
        """Note that the connection of an agent has ended."""
        if agent and agent == self._owner:  # connections without a name only hand something over
            self.left_at = now

    def come_back(self, agent: str) -> None:
        """Note that it is there: it had only lost its connection."""
        if agent == self._owner:
            self.left_at = None

    def release(self) -> None:
        """Close it, if it is held."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = None

    def look(self, now: float, *, agent: bool) -> None:
        """Close it if its agent has been away for too long."""
        if agent:
            self._alone_since = None
            return
        if self._alone_since is None:
            self._alone_since = now
        if now - self._alone_since >= self._orphan_seconds:
            self.release()

    def answer(self, client: Client, request: dict[str, Any], now: float) -> dict[str, Any]:
        """Hold a descriptor that came with the request, or close the one that is held; where it stands."""
        if request["op"] == "hold":
            if not client.descriptors:
                raise ValueError("no descriptor came with it")
            self.hold(client.descriptors.pop(0), request["orphan_seconds"], request.get("agent", ""))
        elif request["op"] == "release":
            self.release()
        elif request.get("listening"):
            client.listened_at = now
        return {"held": bool(self), "left_at": self.left_at}

    @property
    def next_look(self) -> float | None:
        """When it has been left alone for too long."""
        if self._alone_since is None or self._fd is None:
            return None
        return self._alone_since + self._orphan_seconds
