"""What the eviction bridge remembers of a cluster that does not always answer.

An eviction is let past its interceptors where the bridge has had nothing to go by for a while, and never
because a few requests were slow or lost on the way: then the caller is asked to try again.
"""

from __future__ import annotations

import asyncio
import datetime as dt

from vacate.api.types import Lease
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import (
    ApiError,
    InternalError,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    TransportError,
    UnreadableObject,
)
from vacate.runtime.managerlease import manager_leases
from vacate.views.managerhealth import ManagerHealth, manager_health, unattended_request

BUSY_SECONDS = 30.0
"""Lookups that have failed for no longer than this, or fail so shortly after one that did not: the cluster is
busy, and not away."""

_FORGOTTEN_SECONDS = 3600.0  # a lookup that fails so long after the last one is the first of others

FAILING_SECONDS = 120.0
"""How long a caller is asked to try again because its request cannot be made; then the eviction passes."""

_MAX_FAILING = 10_000  # pods and callers
_LEASE_SECONDS = 2.0  # for which the manager's Lease is not read again
_LEASE_TIMEOUT = 0.3  # no answer waits longer for it


def is_passing(error: Exception) -> bool:
    """Whether the same request may succeed a moment later. 500 is also an admission webhook that is away."""
    if isinstance(error, UnreadableObject):
        return False
    passing = (TransportError, TimeoutError, InternalError, ServiceUnavailable, Timeout, TooManyRequests)
    return isinstance(error, passing)


class BridgeHealth:
    """When the cluster last answered, and since when requests for some pods cannot be made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answered: float | None = None
        self._silent: tuple[float, float] | None = None  # the first and the last failure since the answer
        self._failing: dict[tuple[str, str], float] = {}  # since when, by pod's UID and requester

    def answered(self) -> None:
        """A lookup succeeded."""
        self._answered = self._clock.monotonic()
        self._silent = None

    def is_busy(self) -> bool:
        """A lookup failed: whether others succeed, or none has failed for long."""
        now = self._clock.monotonic()
        first, last = self._silent or (now, now)
        if now - last > _FORGOTTEN_SECONDS:
            first = now
        self._silent = (first, now)
        recently = self._answered is not None and now - self._answered <= BUSY_SECONDS
        return recently or now - first <= BUSY_SECONDS

    def made(self, key: tuple[str, str]) -> None:
        """The request was made."""
        self._failing.pop(key, None)

    def unmade(self, key: tuple[str, str]) -> None:
        """The request could not be made; nobody may have waited for that."""
        now = self._clock.monotonic()
        if len(self._failing) >= _MAX_FAILING:
            self._failing = {one: at for one, at in self._failing.items() if now - at <= 2 * FAILING_SECONDS}
        self._failing.setdefault(key, now)

    def may_be_made_later(self, key: tuple[str, str], error: Exception | None = None) -> bool:
        """Whether the caller should try again, after this error or for want of an answer, rather than go past
        the interceptors."""
        now = self._clock.monotonic()
        passing = error is None or is_passing(error)
        if passing and now - self._failing.get(key, now) <= FAILING_SECONDS:
            return True
        self._failing.pop(key, None)
        return False


class ManagerWatch:
    """Whether a manager works that gives interceptors their turns: without one callers wait for ever."""

    def __init__(self, client: Client, clock: Clock, *, embedded: bool = False) -> None:
        self._client = client
        self._clock = clock
        self._embedded = embedded
        self._read_at = float("-inf")
        self._leases: list[Lease] | None = None

    async def health(self, request: EvictionRequest, now: dt.datetime) -> ManagerHealth:
        """What is known, for the answer about a request."""
        if self._clock.monotonic() - self._read_at > _LEASE_SECONDS:
            self._read_at = self._clock.monotonic()
            try:
                async with asyncio.timeout(_LEASE_TIMEOUT):
                    self._leases = await manager_leases(self._client)
            except (ApiError, TransportError, TimeoutError):
                self._leases = None  # the answer does without it
        waits = unattended_request([request])
        return manager_health(self._leases, now, waits, embedded=self._embedded)
