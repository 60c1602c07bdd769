"""The disk of a simulated server: it outlives crashes, and what was not on it by then is lost."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Sequence

from vacate.clock import Clock
from vacate.embedded.store.log import Record
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import Entropy
from vacate.errors import StoreError
from vacate.sim.trace import Trace


class SimDisk:
    """One server's view of the records; every record that is kept goes into the trace."""

    def __init__(
        self,
        log: MemoryLog,
        clock: Clock,
        entropy: Entropy,
        latency: tuple[float, float],
        trace: Trace,
        kept: Callable[[Record], None] | None = None,
    ) -> None:
        self._log = log
        self._clock = clock
        self._entropy = entropy
        self._latency = latency
        self._trace = trace
        self._kept = kept  # called for every record that reached the disk
        self._dead = False

    def pull_plug(self) -> None:
        """From now on nothing reaches the disk through this view."""
        self._dead = True

    async def open(self) -> int:
        """The compaction revision."""
        return await self._log.open()

    def replay(self) -> AsyncIterator[Sequence[Record]]:
        """All records."""
        return self._log.replay()

    async def append(self, records: Sequence[Record]) -> None:
        """Keep all of them after the latency, or none if the plug was pulled meanwhile."""
        await self._spend()
        await self._log.append(records)
        for record in records:
            key = f"{record.resource}/{record.namespace}/{record.name}"
            mark = "gone" if record.deleted else f"{zlib.crc32(record.value):08x}"
            self._trace.add("write", f"{record.revision} {key} {mark}")
            if self._kept is not None:
                self._kept(record)

    async def compact(self, revision: int, obsolete: Sequence[int]) -> None:
        """One step of a compaction."""
        await self._spend()
        await self._log.compact(revision, obsolete)

    async def aclose(self) -> None:
        """Nothing to let go of; the records stay."""

    async def _spend(self) -> None:
        low, high = self._latency
        if high > 0:
            await self._clock.sleep(self._entropy.uniform(low, high))
        if self._dead:
            raise StoreError("the machine lost power")
