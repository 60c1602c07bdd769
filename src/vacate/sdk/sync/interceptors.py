"""Handlers that are plain functions: each call runs in a thread of its own, beside the event loop."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.errors import ConfigError
from vacate.sdk.arguments import async_function
from vacate.sdk.errors import TurnLost
from vacate.sdk.interceptors.context import EvictionContext as AsyncContext
from vacate.sdk.interceptors.interceptor import Handler, Interceptor, check_decoration
from vacate.sdk.values import Cancellation, Condition, Declined, Finished, NoEstimate, Outcome, TurnEndReason

T = TypeVar("T")

_THREADED = "__vacate_threaded__"


class EvictionContext:
    """The eviction of a pod, for a plain function; see `vacate.sdk.EvictionContext`.

    A thread cannot be stopped from outside: every verb of this class raises TurnLost once the turn is over,
    and a long computation between them should call `check` or look at `ended`.
    """

    def __init__(self, context: AsyncContext, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        self._over = threading.Event()  # set when the handler is no longer wanted
        self.pod: Pod = context.pod
        self.name = context.name
        self.attempt = context.attempt
        self.resumed = context.resumed

    @property
    def request(self) -> EvictionRequest:
        """The request as it was last seen."""
        return self._context.request

    @property
    def ends_at(self) -> dt.datetime | None:
        """When the pod is terminated in any case, since its node shuts down; None otherwise."""
        return self._context.ends_at

    @property
    def time_left(self) -> dt.timedelta | None:
        """How long it is until `ends_at`, and never less than nothing; None where no node shuts down."""
        return self._context.time_left

    @property
    def end_reason(self) -> TurnEndReason | None:
        """Why the turn is over; None while it lasts."""
        return self._context.end_reason

    def now(self) -> dt.datetime:
        """The present moment, by the clock of the SDK."""
        return self._context.clock.now()

    def check(self) -> None:
        """Raise TurnLost where the turn is over."""
        if self._over.is_set() or self.end_reason is not None:
            raise TurnLost(self.end_reason or TurnEndReason.SHUTDOWN)

    def sleep(self, seconds: float) -> None:
        """Wait; TurnLost as soon as the turn is over."""
        self._over.wait(seconds)
        self.check()

    def report(
        self,
        message: str | None = None,
        *,
        expected_finish: dt.datetime | dt.timedelta | NoEstimate | None = None,
        conditions: Sequence[Condition] = (),
        cancellation: Cancellation | str | None = None,
    ) -> None:
        """Say how things stand; see `vacate.sdk.EvictionContext.report`."""
        self._await(
            self._context.report(
                message, expected_finish=expected_finish, conditions=conditions, cancellation=cancellation
            )
        )

    def progress(self) -> None:
        """Say that there is progress, without a write."""
        self._loop.call_soon_threadsafe(self._context.progress)

    @property
    def termination_reason(self) -> str:
        """Why the pod is terminated; see `vacate.sdk.EvictionContext.termination_reason`."""
        return self._context.termination_reason

    def evict(
        self,
        *,
        grace_period_seconds: int | None = None,
        give_up_after: dt.timedelta | None = None,
        reason: str = "",
    ) -> None:
        """Evict the pod; see `vacate.sdk.EvictionContext.evict`."""
        self._await(
            self._context.evict(
                grace_period_seconds=grace_period_seconds, give_up_after=give_up_after, reason=reason
            )
        )

    def delete(self, *, reason: str, grace_period_seconds: int | None = None) -> None:
        """Delete the pod past all disruption budgets; see `vacate.sdk.EvictionContext.delete`."""
        self._await(self._context.delete(reason=reason, grace_period_seconds=grace_period_seconds))

    def event(self, reason: str, message: str, *, warning: bool = False) -> None:
        """Write an Event about the request."""
        self._loop.call_soon_threadsafe(lambda: self._context.event(reason, message, warning=warning))

    def finished(self, message: str = "") -> Finished:
        """To be returned: this interceptor has done its part."""
        return Finished(message)

    def declined(self, reason: str = "") -> Declined:
        """To be returned: this interceptor has nothing to do here."""
        return Declined(reason)

    def _stop(self) -> None:
        self._over.set()

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            self.check()
        except TurnLost:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


SyncHandler = Callable[[EvictionContext], Outcome | None]
"""Called in a thread of its own when it is the interceptor's turn."""


def threaded(handler: SyncHandler) -> Handler:
    """A plain function as a handler."""

    async def call(context: AsyncContext) -> Outcome | None:
        loop = asyncio.get_running_loop()
        plain = EvictionContext(context, loop)
        done: asyncio.Future[Outcome | None] = loop.create_future()
        # Daemons: a function that never returns must not keep the program from ending.
        thread = threading.Thread(target=_run, args=(handler, plain, loop, done), daemon=True)
        thread.start()
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            plain._stop()  # noqa: SLF001  the other half of this file
            return await done  # the function is given time to end by itself

    setattr(call, _THREADED, True)
    return call


def is_threaded(handler: object) -> bool:
    """Whether a handler was made of a plain function."""
    return bool(getattr(handler, _THREADED, False))


def interceptor(name: str, **options: Any) -> Callable[[SyncHandler], Interceptor]:
    """`@interceptor("backup.example.com", label_selector="app=db")` above a plain function."""
    check_decoration(name, options)

    def make(handler: SyncHandler) -> Interceptor:
        if async_function(f"interceptor {name}: the handler", handler):
            raise ConfigError(f"interceptor {name}: use vacate.sdk.interceptor for async functions")
        return Interceptor(name, threaded(handler), **options)

    return make


def _run(
    handler: SyncHandler,
    context: EvictionContext,
    loop: asyncio.AbstractEventLoop,
    done: asyncio.Future[Outcome | None],
) -> None:
    try:
        outcome = handler(context)
    except BaseException as error:
        loop.call_soon_threadsafe(_settle, done, None, error)
    else:
        loop.call_soon_threadsafe(_settle, done, outcome, None)


def _settle(
    done: asyncio.Future[Outcome | None], outcome: Outcome | None, error: BaseException | None
) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(outcome)
    else:
        done.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
