"""The queue that controllers use: the three layers in one, with metrics."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from vacate.clock import PassiveClock
from vacate.queue.dedupe import DedupeQueue
from vacate.queue.delay import Delays
from vacate.queue.limits import Backoff, TokenBucket

if TYPE_CHECKING:
    from vacate.metrics import Metrics  # its library takes a fifth of the start of a command

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class QueueState(Generic[K]):
    """All that a queue holds, as a value."""

    ready: tuple[K, ...]  # waiting, in order
    processing: tuple[K, ...]  # in the hands of a worker
    again: tuple[K, ...]  # in the hands of a worker, and to be given out once more
    later: tuple[tuple[K, float], ...]  # to come, with the seconds left, earliest first
    failures: tuple[tuple[K, int], ...]  # failures in a row


class _Meters(Generic[K]):
    """The queue's metrics: when keys came and went."""

    def __init__(self, metrics: Metrics, name: str, clock: PassiveClock) -> None:
        self._clock = clock
        self._depth = metrics.queue_depth.labels(name, name)
        self._adds = metrics.queue_adds.labels(name, name)
        self._retries = metrics.queue_retries.labels(name, name)
        self._waited = metrics.queue_seconds.labels(name, name)
        self._worked = metrics.work_seconds.labels(name, name)
        self._since: dict[K, float] = {}  # when a key that waits was added
        self._begun: dict[K, float] = {}  # when a key that is worked on was given out
        metrics.unfinished_seconds.labels(name, name).set_function(self._unfinished)

    def added(self, key: K) -> None:
        self._adds.inc()
        self._since[key] = self._clock.monotonic()

    def given(self, key: K, depth: int) -> None:
        now = self._clock.monotonic()
        self._begun[key] = now
        self._waited.observe(now - self._since.pop(key, now))
        self._depth.set(depth)

    def done(self, key: K) -> None:
        now = self._clock.monotonic()
        self._worked.observe(now - self._begun.pop(key, now))

    def depth(self, depth: int) -> None:
        self._depth.set(depth)

    def _unfinished(self) -> float:
        now = self._clock.monotonic()
        return sum(now - begun for begun in self._begun.values())

    def retried(self) -> None:
        self._retries.inc()


class Queue(Generic[K]):
    """Keys for workers: each once, to one worker at a time, now, later, or after a failure."""

    def __init__(
        self,
        clock: PassiveClock,
        *,
        name: str = "",
        metrics: Metrics | None = None,
        backoff: Backoff[K] | None = None,
        bucket: TokenBucket | None = None,
    ) -> None:
        self._clock = clock
        self._keys: DedupeQueue[K] = DedupeQueue()
        self._delays: Delays[K] = Delays(self.add, clock)
        self._backoff: Backoff[K] = backoff if backoff is not None else Backoff()
        self._bucket = bucket if bucket is not None else TokenBucket()
        self._meters: _Meters[K] | None = _Meters(metrics, name, clock) if metrics else None

    def add(self, key: K) -> None:
        """Serve the key as soon as a worker is free."""
        if self._keys.add(key) and self._meters:
            self._meters.added(key)
            self._meters.depth(len(self._keys))

    def add_after(self, key: K, seconds: float) -> None:
        """Serve the key in so many seconds; of several moments the earliest counts."""
        self._delays.add_after(key, seconds)

    def add_failed(self, key: K, at_least: float = 0.0) -> float:
        """Serve the key again after its backoff, and not sooner than asked; returns the seconds."""
        overall = self._bucket.take(self._clock.monotonic())
        seconds = max(self._backoff.failed(key), overall, at_least)
        if self._meters:
            self._meters.retried()
        self._delays.add_after(key, seconds)
        return seconds

    def forget(self, key: K) -> None:
        """End the key's row of failures."""
        self._backoff.forget(key)

    def failures(self, key: K) -> int:
        """How often the key failed in a row."""
        return self._backoff.failures(key)

    async def get(self) -> K | None:
        """The next key, the caller's until `done`; None when the queue is shut down and empty."""
        key = await self._keys.get()
        if key is not None and self._meters:
            self._meters.given(key, len(self._keys))
        return key

    def done(self, key: K) -> None:
        """Give the key back."""
        self._keys.done(key)
        if self._meters:
            self._meters.done(key)
            self._meters.depth(len(self._keys))

    def shut_down(self) -> None:
        """Take in nothing more; what is ready is still given out, what was to come later stays in `state`."""
        self._delays.close()
        self._keys.shut_down()

    def state(self) -> QueueState[K]:
        """All that the queue holds."""
        keys = self._keys.state()
        failures = tuple(self._backoff.state().items())
        return QueueState(keys.ready, keys.processing, keys.again, self._delays.state(), failures)
