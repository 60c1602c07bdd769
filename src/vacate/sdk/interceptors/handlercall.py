"""Calls a handler, with heartbeats beside it, and cancels it when its turn is over."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from vacate.sdk.errors import TurnLost
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.interceptors.heartbeat import HeartbeatLoop
from vacate.sdk.interceptors.interceptor import Interceptor
from vacate.sdk.interceptors.statuswriter import StatusWriter
from vacate.sdk.values import Declined, Finished, Outcome, TurnEndReason

log = logging.getLogger(__name__)

CLEAN_UP = 30.0
"""Seconds that a cancelled handler has to put things in order."""

_strays: dict[asyncio.Task[Any], None] = {}  # handlers that ignored their cancellation, until they end


async def call(
    interceptor: Interceptor, context: EvictionContext, status_writer: StatusWriter, heartbeats: HeartbeatLoop
) -> Outcome | Exception:
    """What the handler returned or raised; whether the turn is over is for the status writer to say."""
    loop = asyncio.get_running_loop()
    handler = loop.create_task(_called(interceptor, context), name=f"{interceptor.name} handler")
    over = loop.create_task(status_writer.over.wait(), name=f"{interceptor.name} over")
    beating = loop.create_task(heartbeats.run(), name=f"{interceptor.name} heartbeat")
    try:
        await asyncio.wait([handler, over], return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        status_writer.end(TurnEndReason.SHUTDOWN)
        raise
    finally:
        await _let_go(handler, status_writer)
        await _stop(over)
        await _stop(beating)
    return _outcome(handler)


async def _called(interceptor: Interceptor, context: EvictionContext) -> Outcome | None:
    return await interceptor.handler(context)


async def _let_go(handler: asyncio.Task[Any], status_writer: StatusWriter) -> None:
    """Cancel a handler that still runs, and give it a while to clean up."""
    if handler.done():
        return
    handler.cancel(status_writer.ended.value if status_writer.ended else None)
    await asyncio.wait([handler], timeout=CLEAN_UP)
    if not handler.done():
        log.error("%s still runs %g s after it was cancelled; it is abandoned", handler.get_name(), CLEAN_UP)
        _strays[handler] = None
        handler.add_done_callback(lambda task: _strays.pop(task, None))
    elif not handler.cancelled() and (error := handler.exception()) is not None:
        expected = isinstance(error, TurnLost)
        log.log(
            logging.DEBUG if expected else logging.WARNING,
            "%s failed while it was being cancelled: %s",
            handler.get_name(),
            error,
        )


def _outcome(handler: asyncio.Task[Outcome | None]) -> Outcome | Exception:
    if not handler.done():
        return RuntimeError("the handler ignored its cancellation")
    if handler.cancelled():
        return RuntimeError("the handler was cancelled from inside")
    error = handler.exception()
    if error is not None:
        return error if isinstance(error, Exception) else RuntimeError(repr(error))
    result: object = handler.result()
    if result is None:
        return Finished()
    if isinstance(result, Finished | Declined):
        return result
    return TypeError(f"the handler returned {result!r} in place of finished(), declined() or nothing")


async def _stop(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
