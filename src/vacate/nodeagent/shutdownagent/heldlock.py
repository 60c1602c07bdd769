"""The agent's side of the lock that its parent holds."""

from __future__ import annotations

import asyncio
import os
import socket

from vacate.errors import VacateError
from vacate.nodeagent.runtime.protocol import Held
from vacate.nodeagent.shutdownagent.launcher import HELD, HOLD, HOLDS, LISTENS, RELEASE

ANSWER_SECONDS = 5.0


class ParentLost(VacateError):
    """The parent does not answer; the lock may or may not be held."""


class ParentLock:
    """The holder for an agent that `shutdownagent.parent` has started."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._connection.setblocking(False)
        self._one = asyncio.Lock()

    async def hold(self, fd: int, orphan_seconds: float) -> None:
        """Hand the lock over; this process keeps no copy."""
        try:
            await self._ask(f"{HOLD} {orphan_seconds:.3f}", fd)
        finally:
            os.close(fd)

    async def holds(self, *, listening: bool = False) -> Held | None:
        """The one that the parent holds, if it does."""
        match (await self._ask(LISTENS if listening else HOLDS)).split():
            case [word, left_at] if word == HELD:
                return Held(float(left_at))
            case [word] if word == HELD:
                return Held()
        return None

    async def release(self) -> None:
        """Have it closed."""
        await self._ask(RELEASE)

    async def _ask(self, text: str, *descriptors: int) -> str:
        loop = asyncio.get_running_loop()
        async with self._one:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    socket.send_fds(self._connection, [text.encode()], list(descriptors))
                    answer = (await loop.sock_recv(self._connection, 64)).decode()
            except (OSError, TimeoutError) as error:
                raise ParentLost(f"the parent of the agent does not answer: {error}") from error
        if not answer:
            raise ParentLost("the parent of the agent is gone")
        return answer
