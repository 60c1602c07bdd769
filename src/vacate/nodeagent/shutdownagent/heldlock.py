"""The agent's side of the lock that its parent holds."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

import orjson

from vacate.errors import VacateError
from vacate.nodeagent.runtime.protocol import Held

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
            await self._ask({"op": "hold", "orphan_seconds": orphan_seconds}, fd)
        finally:
            os.close(fd)

    async def holds(self, *, listening: bool = False) -> Held | None:
        """The one that the parent holds, if it does."""
        answer = await self._ask({"op": "holds", "listening": listening})
        return Held(answer["left_at"]) if answer["held"] else None

    async def release(self) -> None:
        """Have it closed."""
        await self._ask({"op": "release"})

    async def _ask(self, request: dict[str, Any], *descriptors: int) -> dict[str, Any]:
        async with self._one:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    line = orjson.dumps(request) + b"\n"
                    socket.send_fds(self._connection, [line], list(descriptors))
                    answer = await asyncio.get_running_loop().sock_recv(self._connection, 65536)
            except (OSError, TimeoutError) as error:
                raise ParentLost(f"the parent of the agent does not answer: {error}") from error
        if not answer:
            raise ParentLost("the parent of the agent is gone")
        found: dict[str, Any] = orjson.loads(answer)
        return found
