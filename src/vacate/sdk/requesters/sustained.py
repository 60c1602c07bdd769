"""A sustained request: one that is made again when someone else removes it."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.clock import Clock
from vacate.errors import ApiError, ConfigError, NotFound, TransportError
from vacate.eviction.dialects.base import Dialect
from vacate.sdk.arguments import checked_span
from vacate.sdk.errors import HeldByFinalizers
from vacate.sdk.requesters.requests import has_requester
from vacate.sdk.results import Result, result_of, result_without
from vacate.sdk.turnstate import is_newer
from vacate.sdk.watch import WatchedObject

log = logging.getLogger(__name__)

FIRST_PAUSE, MAX_PAUSE = 1.0, 60.0
MAX_REFUSED_PAUSE = 15.0
"""The same while it is refused: no watch shows when that is over."""
BACKOFF_RESET_SECONDS = 300.0
"""Seconds after which a removal counts as the first one again."""

_CATCH_UP_SECONDS = 10.0


class RequestMaker(Protocol):
    """What a sustained request needs of its requester."""

    @property
    def name(self) -> str:
        """The name that is kept on the request."""

    @property
    def dialect(self) -> Dialect:
        """The API that requests are made in."""

    @property
    def clock(self) -> Clock:
        """Where time comes from."""

    async def request(
        self,
        pod: EvictionRequest | Pod | str,
        namespace: str = "",
        *,
        reason: str = "",
        deadline_seconds: int | None = None,
    ) -> EvictionRequest:
        """Create the request, or join the one that exists."""

    def following(
        self, request: EvictionRequest
    ) -> AbstractAsyncContextManager[WatchedObject[EvictionRequest]]:
        """A watch over the request, for the length of a block."""


class SustainedRequest:
    """Keeps one requester's name on the request for one pod, for the length of a block.

    The end of the block leaves the request as it is: a requester that no longer wants the eviction calls
    `Requester.withdraw` afterwards.
    """

    def __init__(
        self,
        requester: RequestMaker,
        pod: Pod | str,
        namespace: str,
        reason: str,
        deadline_seconds: int | None,
    ) -> None:
        self._requester = requester
        self._pod = pod
        self._namespace = namespace
        self._reason = reason
        self._deadline_seconds = deadline_seconds
        self._request: EvictionRequest | None = None  # the one last asked for
        self._task: asyncio.Task[Result] | None = None
        self.requested_again = 0  # how often it had to be
        self.refused = ""  # why it could not be requested again so far; it is tried on

    @property
    def request(self) -> EvictionRequest:
        """The request as it was when it was last asked for."""
        if self._request is None:
            raise ConfigError("use it as `async with requester.keep_requested(…) as sustained`")
        return self._request

    async def __aenter__(self) -> SustainedRequest:
        self._request = await self._ask(self._pod)
        self._task = asyncio.get_running_loop().create_task(self._keep_requested(), name="sustained request")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            if kind is None and not self._task.cancelled():
                self._task.result()

    async def wait(self, *, timeout: dt.timedelta | None = None) -> Result:
        """Return when the pod is gone; TimeoutError where it is not in time. The request is still kept up."""
        if self._task is None:
            raise ConfigError("use it as `async with requester.keep_requested(…) as sustained`")
        checked_span("timeout", timeout)
        async with asyncio.timeout(None if timeout is None else timeout.total_seconds()):
            return await asyncio.shield(self._task)

    async def _ask(self, pod: Pod | EvictionRequest | str) -> EvictionRequest:
        return await self._requester.request(
            pod, self._namespace, reason=self._reason, deadline_seconds=self._deadline_seconds
        )

    async def _keep_requested(self) -> Result:
        clock, failures, asked_at = self._requester.clock, 0, self._requester.clock.monotonic()
        async with self._requester.following(self.request) as one:
            while True:
                if not self.refused:
                    await self._caught_up(one)
                result = await self._until_removed(one)
                if result is not None:
                    return result
                failures = 0 if clock.monotonic() - asked_at > BACKOFF_RESET_SECONDS else failures
                longest = MAX_REFUSED_PAUSE if self.refused else MAX_PAUSE
                await clock.sleep(min(FIRST_PAUSE * 2.0**failures, longest))
                failures, asked_at = failures + 1, clock.monotonic()
                if await self._again():
                    return result_without(one.last or self._request, clock.now(), pod_is_there=False)

    async def _until_removed(self, one: WatchedObject[EvictionRequest]) -> Result | None:
        """The result when the pod is gone; None when the name or the request is missing."""
        while (current := one.current) is not None:
            seen = one.changes
            result = result_of(current)
            if result is not None:
                return result if result.pod_ended else None
            requester = self._requester
            if not has_requester(current, requester.name) and not requester.dialect.fixes_requesters(current):
                return None
            await one.change(seen)
        return None

    async def _again(self) -> bool:
        """Request once more; True where the pod is gone meanwhile."""
        try:
            asked = await self._ask(self.request)
        except NotFound:
            return True
        except (ApiError, TransportError, HeldByFinalizers) as error:
            # A webhook that is away, a policy or a quota: whatever refuses now may not do so for long.
            self.refused = str(error)
            log.warning("%s: not requested again yet: %s", self._requester.name, error)
            return False
        self.refused = ""
        if asked.metadata.resource_version != self.request.metadata.resource_version:
            self.requested_again += 1
        self._request = asked
        return False

    async def _caught_up(self, one: WatchedObject[EvictionRequest]) -> None:
        """Return when the watch shows what was asked for; a request that went at once is not waited for."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CATCH_UP_SECONDS):
                while (seen := one.changes) >= 0 and self._is_behind(one.current):
                    await one.change(seen)

    def _is_behind(self, current: EvictionRequest | None) -> bool:
        return current is None or is_newer(self.request, current)
