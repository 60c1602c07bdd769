"""What the store asks of a log: keep records in order, durably, and give them back after a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

FIRST_REVISION = 1
"""The revision of a store that nobody has written to, as etcd has it; the first write gets the next one."""


class Record(NamedTuple):
    """One row of the log, in the order of the table's columns."""

    revision: int
    resource: str
    namespace: str
    name: str
    deleted: bool
    created: int
    value: bytes


class Log(Protocol):
    """Keeps records. One task at a time may append; compaction steps may come in between.

    A log that failed once stays failed: the store stops writing to it and never tries again.
    """

    async def open(self) -> int:
        """Make ready and return the compaction revision: the records after it are all there."""
        ...

    def replay(self) -> AsyncIterator[Sequence[Record]]:
        """The records that are kept, by revision, in runs; called once, before anything is appended."""
        ...

    async def append(self, records: Sequence[Record]) -> None:
        """Return when the records are safe from a power loss, all of them; raise when they may not be."""
        ...

    async def compact(self, revision: int, obsolete: Sequence[int]) -> None:
        """One step of a compaction: remember its revision and drop these rows, in one transaction.

        Rows of one key arrive oldest first, so that a stop between two steps never brings an object back.
        """
        ...

    async def aclose(self) -> None:
        """Finish what was handed over and let go of files and threads."""
        ...
