"""Descriptors that the supervisor holds for an agent, which may restart meanwhile: such as logind's lock."""

from __future__ import annotations

import contextlib
import os


class Descriptors:
    """By name. One that no agent has asked about for its time is closed: nobody would ever release it."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[int, float]] = {}
        self._alone_since: float | None = None
        self._owners: dict[str, str] = {}  # the agents that handed them over
        self._left_at: dict[str, float] = {}  # when these ended, by agent

    def __bool__(self) -> bool:
        """Whether any is held."""
        return bool(self._held)

    def hold(self, name: str, fd: int, orphan_seconds: float, agent: str) -> None:
        """Take a descriptor, in place of one of that name."""
        self._owners[name] = agent
        os.set_inheritable(fd, False)
        old = self._held.get(name)
        self._held[name] = (fd, orphan_seconds)
        if old is not None:
            _close(old[0])

    def holds(self, name: str) -> bool:
        """Whether there is one of that name."""
        return name in self._held

    def left_at(self, name: str) -> float | None:
        """When the agent ended that handed it over: those after it may have seen nothing."""
        return self._left_at.get(self._owners.get(name, ""))

    def leave(self, agent: str, now: float) -> None:
        """Note that the connection of an agent has ended."""
        self._left_at = {one: at for one, at in self._left_at.items() if one in self._owners.values()}
        if agent and agent in self._owners.values():  # connections without a name only hand something over
            self._left_at[agent] = now

    def come_back(self, agent: str) -> None:
        """Note that it is there: it had only lost its connection."""
        self._left_at.pop(agent, None)

    def release(self, name: str) -> None:
        """Close it, if there is one."""
        found = self._held.pop(name, None)
        if found is not None:
            _close(found[0])

    def look(self, now: float, *, agent: bool) -> None:
        """Close those whose agent has been away for too long."""
        if agent:
            self._alone_since = None
            return
        if self._alone_since is None:
            self._alone_since = now
        for name, (_, seconds) in list(self._held.items()):
            if now - self._alone_since >= seconds:
                self.release(name)

    def next_look(self) -> float | None:
        """When the next one has been left alone for too long."""
        if self._alone_since is None or not self._held:
            return None
        return self._alone_since + min(seconds for _, seconds in self._held.values())


def _close(fd: int) -> None:
    with contextlib.suppress(OSError):
        os.close(fd)
