"""What the eviction bridge remembers of a cluster that does not always answer.

An eviction is let past its interceptors where the bridge has nothing to go by, and never because of a single
request that was lost on the way: as long as others are answered, the caller is asked to try again.
"""

from __future__ import annotations

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

BUSY_SECONDS = 30.0
"""A lookup that fails so shortly after one that did not: the cluster is busy, and not away."""

FAILING_SECONDS = 120.0
"""How long a caller is asked to try again because its request cannot be made; then the eviction passes."""

_MAX_FAILING = 10_000  # pods and callers


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
        self._failing: dict[tuple[str, str], float] = {}  # since when, by pod's UID and requester

    def answered(self) -> None:
        """A lookup succeeded."""
        self._answered = self._clock.monotonic()

    @property
    def busy(self) -> bool:
        """Whether a lookup that fails now is one of many that succeed."""
        last = self._answered
        return last is not None and self._clock.monotonic() - last <= BUSY_SECONDS

    def made(self, key: tuple[str, str]) -> None:
        """The request was made."""
        self._failing.pop(key, None)

    def may_be_made_later(self, key: tuple[str, str], error: ApiError | TransportError) -> bool:
        """Whether the caller should try again after this error, rather than go past the interceptors."""
        now = self._clock.monotonic()
        if len(self._failing) >= _MAX_FAILING:
            self._failing = {one: at for one, at in self._failing.items() if now - at <= 2 * FAILING_SECONDS}
        if is_passing(error) and now - self._failing.setdefault(key, now) <= FAILING_SECONDS:
            return True
        self._failing.pop(key, None)
        return False
