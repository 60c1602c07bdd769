"""The requester for plain scripts: an event loop in a thread of its own does the waiting."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.sdk.requesters import requester as plain
from vacate.sdk.requesters.sustained import SustainedRequest as AsyncSustainedRequest
from vacate.sdk.results import Result

T = TypeVar("T")


class _LoopThread:
    """An event loop that runs until it is closed, for callers in other threads."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vacate-sdk", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the work there and return its value; Ctrl-C here cancels it there."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop and its thread."""
        self.call(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Requester:
    """One requester, for a `with` block; every method blocks until it is done. See `vacate.sdk.Requester`."""

    def __init__(
        self,
        name: str,
        *,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        dialect: Dialect = EVICTION_REQUEST,
    ) -> None:
        self._thread = _LoopThread()
        self._stack = contextlib.AsyncExitStack()
        try:
            opening = plain.open_requester(name, kubeconfig=kubeconfig, context=context, dialect=dialect)
            self._requester = self._thread.call(self._stack.enter_async_context(opening))
        except BaseException:
            self._thread.close()
            raise

    @property
    def name(self) -> str:
        """The requester's name."""
        return self._requester.name

    def request(
        self, pod: plain.Ref, namespace: str = "", *, reason: str = "", deadline_seconds: int | None = None
    ) -> EvictionRequest:
        """Request the pod's eviction: create the request, join it, or replace one that is over."""
        return self._thread.call(
            self._requester.request(pod, namespace, reason=reason, deadline_seconds=deadline_seconds)
        )

    def find(self, ref: plain.Ref, namespace: str = "") -> EvictionRequest | None:
        """The request for the pod, if there is one."""
        return self._thread.call(self._requester.find(ref, namespace))

    def withdraw(self, ref: plain.Ref, namespace: str = "") -> bool:
        """Take out this requester's name, and no other."""
        return self._thread.call(self._requester.withdraw(ref, namespace))

    def wait(self, ref: plain.Ref, namespace: str = "", *, timeout: dt.timedelta | None = None) -> Result:
        """Return when the request is over; TimeoutError where it is not in time."""
        return self._thread.call(self._requester.wait(ref, namespace, timeout=timeout))

    def follow(self, ref: plain.Ref, namespace: str = "") -> Iterator[EvictionRequest]:
        """The request as it is, and after each change; ends when the request is over or gone."""
        states = self._requester.follow(ref, namespace)
        try:
            while (state := self._thread.call(_next(states))) is not None:
                yield state
        finally:
            self._thread.call(states.aclose())

    @contextlib.contextmanager
    def keep_requested(
        self,
        pod: Pod | str,
        namespace: str = "",
        *,
        reason: str = "",
        deadline_seconds: int | None = None,
    ) -> Iterator[SustainedRequest]:
        """Ask, and ask again whenever someone removes this name or the request while the pod is there."""
        sustained = self._requester.keep_requested(
            pod, namespace, reason=reason, deadline_seconds=deadline_seconds
        )
        self._thread.call(sustained.__aenter__())
        try:
            yield SustainedRequest(sustained, self._thread)
        finally:
            self._thread.call(sustained.__aexit__(None, None, None))

    def close(self) -> None:
        """Close the connection and end the thread."""
        self._thread.call(self._stack.aclose())
        self._thread.close()

    def __enter__(self) -> Requester:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _next(states: AsyncGenerator[EvictionRequest, None]) -> EvictionRequest | None:
    return await anext(states, None)


class SustainedRequest:
    """A sustained request for plain scripts."""

    def __init__(self, sustained: AsyncSustainedRequest, thread: _LoopThread) -> None:
        self._sustained = sustained
        self._thread = thread

    @property
    def request(self) -> EvictionRequest:
        """The request as it was when it was last asked for."""
        return self._sustained.request

    def wait(self, *, timeout: dt.timedelta | None = None) -> Result:
        """Return when the pod is gone; TimeoutError where it is not in time."""
        return self._thread.call(self._sustained.wait(timeout=timeout))
