"""Calls that are made anew while there is no answer, by those who have too little time to wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

from vacate.api.objects import dig
from vacate.client.transport import Transport
from vacate.wire.json import decode_json
from vacate.wire.message import Request, Response

T = TypeVar("T")

HEDGE_AFTER_SECONDS = 5.0
"""How often something is asked once more while it does not answer."""
MAX_COPIES = 3

_is_copy: ContextVar[bool] = ContextVar("is_copy", default=False)


async def first_answer(ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The first answer or error. While there is none, ask anew without giving up what was asked first.

    So a slow server has all the time that there is, and a lost connection costs little of it. A server may
    carry out what was given up, and later than what came after it.
    """
    asked: list[asyncio.Task[T]] = []
    try:
        while True:
            asked.append(asyncio.get_running_loop().create_task(_copy(ask)))
            done, _ = await asyncio.wait(
                asked, timeout=HEDGE_AFTER_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return done.pop().result()
            if len(asked) == MAX_COPIES:
                asked.pop(1).cancel()
    finally:
        for one in asked:
            one.cancel()
        await asyncio.wait(asked)


async def _copy(ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    _is_copy.set(True)
    return await ask()


class HedgingTransport:
    """Asks anew what may be carried out late as well: what changes nothing, or only a state that was read.

    The renewal of a Lease may, too: another follows. A watch waits for what happens. What is part of
    something that is asked anew as a whole is sent once.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Response:
        """The first answer that there is."""
        if _is_copy.get() or not _may_come_late(request):
            return await self._transport.send(request)
        return await first_answer(lambda: self._transport.send(request))

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()


def _may_come_late(request: Request) -> bool:
    if request.method == "GET":
        return "watch" not in request.query
    if request.method != "PATCH":
        return False
    return "/leases/" in request.path or bool(
        dig(decode_json(request.body, object), "metadata", "resourceVersion")
    )
