"""The disk of a simulated server: it outlives crashes, and what was not on it by then is lost."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from vacate.clock import Clock
from vacate.embedded.store.log import Record
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import Entropy
from vacate.errors import StoreError
from vacate.sim.trace import Trace

LOST_AFTER = 30.0
"""Seconds after which a write to a store that does not answer has failed."""
_POLL_INTERVAL = 0.25


@dataclass(slots=True)
class DiskCondition:
    """What is wrong with a disk; nothing at first. It can be a store behind a network."""

    seconds: float = 0.0  # that a write takes at most, beyond its latency
    full: bool = False
    unreachable: bool = False  # a write under way fails in the end, and may have been carried out


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
        condition: DiskCondition | None = None,
    ) -> None:
        self._log = log
        self._clock = clock
        self._entropy = entropy
        self._latency = latency
        self._trace = trace
        self._kept = kept  # called for every record that reached the disk
        self._condition = condition or DiskCondition()
        self._dead = False

    def cut_power(self) -> None:
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
        lost = await self._is_lost()
        if lost and self._entropy.uniform(0, 1) < 0.5:
            raise StoreError("the store does not answer")
        if self._condition.full:
            raise StoreError("No space left on device")
        await self._log.append(records)
        for record in records:
            key = f"{record.resource}/{record.namespace}/{record.name}"
            mark = "gone" if record.deleted else f"{zlib.crc32(record.value):08x}"
            self._trace.add("write", f"{record.revision} {key} {mark}")
            if self._kept is not None:
                self._kept(record)
        if lost:
            raise StoreError("the store does not answer")  # and has kept the records all the same

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
        if self._condition.seconds:
            await self._clock.sleep(self._entropy.uniform(0, self._condition.seconds))
        self._check_power()

    async def _is_lost(self) -> bool:
        """Whether the store did not answer for too long."""
        waited = 0.0
        while self._condition.unreachable and waited < LOST_AFTER:
            await self._clock.sleep(_POLL_INTERVAL)
            waited += _POLL_INTERVAL
            self._check_power()
        return self._condition.unreachable

    def _check_power(self) -> None:
        if self._dead:
            raise StoreError("the machine lost power")
