"""Runs a reconciler: sources put keys into a queue, workers take them out, one switch handles the outcome."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from vacate.api.objectidentity import identity_of
from vacate.cache.informer import Informer
from vacate.errors import ApiError, Conflict, VacateError
from vacate.queue.limits import Backoff
from vacate.queue.queue import Queue
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import MAX_RETRY_SECONDS, Done, Key, Later, Outcome, Reconciler, Terminal
from vacate.runtime.refusals import WriteRefusals
from vacate.runtime.refusedwrites import RefusedWrites

T = TypeVar("T")

log = logging.getLogger(__name__)


def own_key(obj: Any) -> Iterable[Key]:
    """The key of the object itself."""
    identity = identity_of(obj)
    return (Key(identity.namespace, identity.name),)


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """Where keys come from: each change of the informer's objects concerns the keys that `keys` names."""

    informer: Informer[T] | RefusedWrites
    keys: Callable[[T], Iterable[Key]] = own_key
    # Whether a change matters; asked with the objects before and after.
    when: Callable[[T | None, T | None], bool] | None = None


class Controller:
    """One reconciler with its queue and workers."""

    def __init__(
        self,
        name: str,
        reconciler: Reconciler,
        sources: Sequence[Source[Any]],
        deps: Dependencies,
        *,
        workers: int = 1,
        backoff: Backoff[Key] | None = None,
        refusals_on: Informer[Any] | None = None,
        refused_for: Callable[[Key], Sequence[Any]] | None = None,
    ) -> None:
        """`refusals_on` has the objects whose keys these are: what is refused for one is shown on it.

        Where the keys are others, `refused_for` says which of its objects a key is about.
        """
        self.name = name
        self.sources = tuple(sources)
        self.queue: Queue[Key] = Queue(
            deps.clock,
            name=name,
            metrics=deps.metrics,
            backoff=backoff or Backoff(longest=MAX_RETRY_SECONDS),
        )
        self._reconciler = reconciler
        self._refusals = WriteRefusals(deps)
        self._refusals_on = refusals_on
        self._refused_for = refused_for or self._own_object
        self._refused: dict[Key, Sequence[Any]] = {}  # on what it is shown
        self.last_work: dt.datetime | None = None  # when an object was last brought to where it should be
        self._clock = deps.clock
        self._workers = workers
        self._results = {
            result: deps.metrics.reconciles.labels(name, result)
            for result in ("success", "requeue_after", "conflict", "terminal", "error")
        }
        for source in self.sources:
            source.informer.subscribe(_enqueue(source, self.queue))

    async def run(self) -> None:
        """Work until cancelled. An error of the machinery itself, never of a reconciler, ends it."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.name}/{number}")

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            try:
                await self.process(key)
            finally:
                self.queue.done(key)
            # A look that needs no answer never waits: a hundred thousand in a row would starve the lease.
            await asyncio.sleep(0)

    async def process(self, key: Key) -> None:
        """Reconcile one key and give the outcome its meaning. Nowhere else is that decided."""
        try:
            outcome: Outcome | Exception = await self._reconciler.reconcile(key)
        except Exception as error:  # whatever a reconciler raises must not end the worker
            outcome = error
        self._apply(key, outcome)
        self._show(key, outcome)

    def _apply(self, key: Key, outcome: Outcome | Exception) -> None:
        match outcome:
            case Done():
                self._results["success"].inc()
                self.last_work = self._clock.now()
                self.queue.forget(key)
            case Later(at):
                self._results["requeue_after"].inc()
                self.last_work = self._clock.now()
                self.queue.forget(key)
                self.queue.add_after(key, (at - self._clock.now()).total_seconds())
            case Conflict():
                self._results["conflict"].inc()
                self.queue.add_failed(key)
            case Terminal():
                self._results["terminal"].inc()
                self.queue.forget(key)
                log.error("%s: %s: not retried until something changes: %s", self.name, key, outcome)
            case _:
                self._results["error"].inc()
                seconds = self.queue.add_failed(key, _asked(outcome))
                unexpected = None if isinstance(outcome, VacateError) else outcome
                log.warning(
                    "%s: %s: again in %.3f s: %s", self.name, key, seconds, outcome, exc_info=unexpected
                )

    def _show(self, key: Key, outcome: Outcome | Exception) -> None:
        """Report what is refused for an object, from the second try on: one may fail by chance."""
        refused = isinstance(outcome, ApiError) and outcome.is_refusal
        if self._refusals_on is None or (not refused and key not in self._refused):
            return
        kind, found = self._refusals_on.kind, self._refused_for(key)
        there = {one.metadata.uid for one in found}
        again = key in self._refused
        over = not found or not isinstance(outcome, Exception)
        for one in self._refused.pop(key, ()):
            if over or one.metadata.uid not in there:
                self._refusals.forget(kind, one, gone=one.metadata.uid not in there)
        if over:
            return
        self._refused[key] = found
        if again and isinstance(outcome, ApiError) and refused:
            for one in found:
                self._refusals.note(kind, one, outcome)

    def _own_object(self, key: Key) -> Sequence[Any]:
        found = self._refusals_on.reader.get(*key) if self._refusals_on is not None else None
        return () if found is None else (found,)


def _asked(error: Exception) -> float:
    return float(error.retry_after_seconds or 0) if isinstance(error, ApiError) else 0.0


def _enqueue(source: Source[T], queue: Queue[Key]) -> Callable[[T | None, T | None], None]:
    """Both states count: an object that changed hands concerns its old owner too."""

    def handle(old: T | None, new: T | None) -> None:
        if source.when is not None and not source.when(old, new):
            return
        for obj in (old, new):
            if obj is not None:
                for key in source.keys(obj):
                    queue.add(key)

    return handle
