"""A log in memory, without threads: for tests and the simulation, which also want slow and broken disks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from vacate.clock import Clock
from vacate.embedded.store.log import FIRST_REVISION, Record
from vacate.errors import StoreError


class MemoryLog:
    """Keeps records as long as the object lives, so that a store can be opened on it again.

    `latency` gives the seconds of the next append or compaction step, which are spent on the clock.
    """

    def __init__(self, *, clock: Clock | None = None, latency: Callable[[], float] | None = None) -> None:
        if latency is not None and clock is None:
            raise ValueError("latency needs a clock")
        self.records: dict[int, Record] = {}
        self.compacted = FIRST_REVISION
        self.appends = 0
        self._clock = clock
        self._latency = latency
        self._good_appends: int | None = None
        self._keeps_failed = False
        self._reason = ""

    def fail_after(self, appends: int, reason: str = "injected failure", *, keep: bool = False) -> None:
        """Let so many more appends succeed and all later ones fail, compaction steps included.

        With `keep` the first failing append keeps its records all the same, as a disk may that failed to
        report: after a restart they are there although no client was answered so.
        """
        self._good_appends = appends
        self._reason = reason
        self._keeps_failed = keep

    def repair(self) -> None:
        """Undo `fail_after`; a store that has failed meanwhile stays failed."""
        self._good_appends = None

    async def open(self) -> int:
        """The compaction revision."""
        return self.compacted

    async def replay(self) -> AsyncIterator[Sequence[Record]]:
        """All records in one run."""
        yield list(self.records.values())

    async def append(self, records: Sequence[Record]) -> None:
        """Keep the records after the latency, or fail."""
        await self._spend()
        if self._good_appends is not None:
            self._count_down(records)
        self._keep(records)
        self.appends += 1

    async def compact(self, revision: int, obsolete: Sequence[int]) -> None:
        """Drop the obsolete records after the latency, or fail."""
        await self._spend()
        if self._good_appends == 0:
            raise StoreError(self._reason)
        self.compacted = max(self.compacted, revision)
        for number in obsolete:
            self.records.pop(number, None)

    async def aclose(self) -> None:
        """Nothing to let go of; the records stay."""

    def _keep(self, records: Sequence[Record]) -> None:
        for record in records:
            self.records[record.revision] = record

    def _count_down(self, records: Sequence[Record]) -> None:
        if self._good_appends:
            self._good_appends -= 1
            return
        if self._keeps_failed:
            self._keeps_failed = False
            self._keep(records)
        raise StoreError(self._reason)

    async def _spend(self) -> None:
        if self._latency is not None and self._clock is not None:
            await self._clock.sleep(self._latency())
