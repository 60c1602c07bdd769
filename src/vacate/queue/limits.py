"""How long to hold a key back: pure bookkeeping, the waiting is done elsewhere."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Backoff(Generic[K]):
    """Doubles the delay of a key with each failure in a row."""

    def __init__(self, first: float = 0.005, longest: float = 1000.0) -> None:
        self._first = first
        self._longest = longest
        self._failures: dict[K, int] = {}  # of keys that failed since they last went well; never zero

    def failed(self, key: K) -> float:
        """Count a failure and return the seconds to wait."""
        before = self._failures.get(key, 0)
        self._failures[key] = before + 1
        return min(self._first * 2.0 ** min(before, 64), self._longest)

    def failures(self, key: K) -> int:
        """How often the key failed in a row."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """The key went well."""
        self._failures.pop(key, None)

    def state(self) -> dict[K, int]:
        """All rows of failures."""
        return dict(self._failures)


class TokenBucket:
    """An overall limit: so many a second, and a reserve for bursts."""

    def __init__(self, rate: float = 10.0, burst: int = 100) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)  # as of _at; below zero where tokens are promised ahead
        self._at: float | None = None  # the newest moment ever passed in

    def take(self, now: float) -> float:
        """Take a token, promised ahead if need be, and return the seconds until it is there."""
        self._refill(now)
        self._tokens -= 1.0
        return max(-self._tokens / self._rate, 0.0)

    def try_take(self, now: float) -> bool:
        """Take a token only if one is there."""
        self._refill(now)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def _refill(self, now: float) -> None:
        if self._at is not None and now > self._at:
            self._tokens = min(self._tokens + (now - self._at) * self._rate, self._burst)
        self._at = now if self._at is None else max(now, self._at)
