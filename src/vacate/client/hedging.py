"""Calls that are made anew while there is no answer, by those who have too little time to wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from vacate.client.transport import Transport
from vacate.wire.message import Request, Response

T = TypeVar("T")

HEDGE_AFTER_SECONDS = 5.0
"""How often something is asked once more while it does not answer."""


async def first_answer(ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The first answer or error. While there is none, ask anew without giving up what was asked before.

    So a slow server has all the time that there is, and a lost connection costs little of it.
    """
    asked = set[asyncio.Task[T]]()
    try:
        while True:
            asked.add(asyncio.get_running_loop().create_task(ask()))
            done, _ = await asyncio.wait(
                asked, timeout=HEDGE_AFTER_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return done.pop().result()
    finally:
        for one in asked:
            one.cancel()
        await asyncio.wait(asked)


class HedgingTransport:
    """Reads and patches, of which a second one does no harm. A watch waits for what happens."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Response:
        """The first answer that there is."""
        if request.method not in ("GET", "PATCH") or "watch" in request.query:
            return await self._transport.send(request)
        return await first_answer(lambda: self._transport.send(request))

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()
