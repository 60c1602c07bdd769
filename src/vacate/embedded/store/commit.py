"""Group commit: one task writes to the log what queued up during its last write, then publishes it.

Nothing is published or acknowledged before the log has it. When the log fails, the batch and all that was
queued behind it fail, for the later writes may have been decided on the earlier ones.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from vacate.embedded.store.log import Log, Record
from vacate.embedded.store.types import Change, Entry
from vacate.errors import StoreReadOnly

BATCH_LIMIT = 1000
"""Most writes of one batch, so that publishing never holds the loop for long."""


class Batch:
    """Writes that share one sync and one outcome."""

    __slots__ = ("_waiters", "changes", "failure", "finished", "records")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.records: list[Record] = []
        self.finished = False
        self.failure: str | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def add(self, change: Change) -> None:
        """Take a change into the batch."""
        entry, key = change.after, change.key
        self.changes.append(change)
        self.records.append(Record(change.revision, *key, change.deleted, entry.created, entry.value))

    def finish(self, failure: str | None = None) -> None:
        """Settle the outcome of the batch and wake those who wait for it."""
        self.finished = True
        self.failure = failure
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def wait(self) -> None:
        """Return when the batch has been published, raise StoreReadOnly when it failed."""
        if not self.finished:
            # A future for each waiter: one of them being cancelled is nothing to the others.
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        if self.failure is not None:
            raise StoreReadOnly(self.failure)


class Write:
    """A write under way: its entry is known at once, its outcome when `done` returns."""

    __slots__ = ("_batch", "change")

    def __init__(self, change: Change, batch: Batch) -> None:
        self.change = change
        self._batch = batch

    @property
    def entry(self) -> Entry:
        """What this write makes of the object; of a deletion its last state."""
        return self.change.after

    async def done(self) -> Entry:
        """Return the entry once the disk has it and watchers were notified; StoreReadOnly if that failed."""
        await self._batch.wait()
        return self.change.after


class Committer:
    """The queue of batches and the task that empties it."""

    def __init__(
        self,
        log: Log,
        publish: Callable[[Sequence[Change]], None],
        abandon: Callable[[str], str],
    ) -> None:
        self._log = log
        self._publish = publish
        self._abandon = abandon
        self._queue: deque[Batch] = deque()
        self._under_way: Batch | None = None
        self._wake = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to commit."""
        self._task = asyncio.create_task(self._run(), name="store committer")

    def submit(self, change: Change) -> Write:
        """Queue a change behind all others."""
        queue = self._queue
        if not queue:
            queue.append(Batch())
            self._wake.set()
        elif len(queue[-1].changes) >= BATCH_LIMIT:
            queue.append(Batch())
        batch = queue[-1]
        batch.add(change)
        return Write(change, batch)

    async def drain(self) -> None:
        """Commit what is queued, then stop."""
        if self._task is None:
            return
        self._closing = True
        self._wake.set()
        await asyncio.wait([self._task])

    def fail(self, reason: str) -> None:
        """Fail everything that has not been published, and stop."""
        unpublished = [self._under_way] if self._under_way else []
        unpublished += self._queue
        self._under_way = None
        self._queue.clear()
        self._closing = True
        self._wake.set()
        refusal = self._abandon(reason)
        for batch in unpublished:
            batch.finish(refusal)

    async def _run(self) -> None:
        try:
            while await self._next():
                await self._commit()
        except BaseException as error:  # cancelled, or an error of our own: no caller may wait for ever
            self.fail(f"the task that writes to the log ended: {error!r}")
            raise

    async def _next(self) -> bool:
        while not self._queue and not self._closing:
            self._wake.clear()
            await self._wake.wait()
        return bool(self._queue)

    async def _commit(self) -> None:
        batch = self._under_way = self._queue.popleft()
        try:
            await self._log.append(batch.records)
        except Exception as error:  # whatever it was, the log can no longer be trusted
            self.fail(str(error) or type(error).__name__)
            return
        if self._under_way is batch:  # else it was failed meanwhile, for another reason
            self._publish(batch.changes)
            self._under_way = None
            batch.finish()
