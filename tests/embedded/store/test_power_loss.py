"""The power goes at any moment: what was acknowledged is there, and nobody has seen what is gone.

The disk in `store.disk` remembers every write and sync. A power loss keeps what was synced, and of the rest
whatever the worst disk would: nothing, all, some, parts, garbage.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from embedded.store.disk import (
    Disk,
    DiskOperation,
    Keep,
    garbage,
    image,
    kept,
    lost,
    put_back,
    recorded,
    torn,
)
from embedded.store.harness import FAST_DISK, opened, pod, project
from embedded.store.model import Model, same_entry
from vacate.embedded.store.log import Log, Record
from vacate.embedded.store.logfile import LogFile
from vacate.embedded.store.sqlite import SqliteLog
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Scope
from vacate.errors import VacateError

pytestmark = pytest.mark.process

WRITERS, WRITES, CUTS = 4, 25, 60


class SmallFile(LogFile):
    """Moves the write-ahead log into the database every few commits, to have that under test as well."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._connection.execute("PRAGMA wal_autocheckpoint = 12")


class LazyFile(SmallFile):
    """Does not wait for the disk."""

    setting = "off"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._connection.execute(f"PRAGMA synchronous = {self.setting}")


class AlmostLazyFile(LazyFile):
    """Syncs when the write-ahead log is moved, and not with each commit."""

    setting = "normal"


class EagerLog(SqliteLog):
    """Says that it has the records before it has them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, open_file=SmallFile)
        self._late: list[asyncio.Task[None]] = []

    async def append(self, records: Sequence[Record]) -> None:
        self._late.append(asyncio.create_task(super().append(records)))

    async def aclose(self) -> None:
        await asyncio.gather(*self._late)
        await super().aclose()


@dataclass
class Run:
    """What was written, and what was confirmed when so many operations had been done."""

    model: Model = field(default_factory=Model)
    operations: list[DiskOperation] = field(default_factory=list)
    confirmed: list[tuple[int, int]] = field(default_factory=list)  # (operations done, revision)

    def promised(self, cut: int) -> int:
        """The newest revision that was confirmed when the power went."""
        return max((revision for done, revision in self.confirmed if done <= cut), default=1)


async def load(store: Store, disk: Disk, run: Run) -> None:
    """Writers that wait for each write, a watcher, and compactions in between."""

    async def follow() -> None:
        async for batch in watch:
            run.confirmed.append((len(disk.operations), batch[-1].revision))

    async def write(number: int) -> None:
        for turn in range(WRITES):
            key = pod(f"{number}-{turn % 6}")
            exists = run.model.tip(key) is not None
            operation = store.delete if exists and turn % 5 == 4 else store.put
            change = operation(key, lambda revision: f"{revision}||".encode() + b"x" * 700)
            run.model.write(key, "", change.entry.value, deleted=change.change.deleted)
            await change.done()
            run.confirmed.append((len(disk.operations), change.entry.revision))
            if turn % 8 == 7:
                await store.compact(store.revision - 3)

    watch = store.watch(Scope("pods"), store.revision)
    follower = asyncio.create_task(follow())
    await asyncio.gather(*(write(number) for number in range(WRITERS)))
    await store.aclose()
    await follower


async def recorded_run(folder: Path, log: Callable[[Path], Log]) -> Run:
    run = Run()
    with recorded() as disk:
        store = await opened(log(folder / "log.db"))
        await load(store, disk, run)
    run.operations = disk.operations
    return run


async def damage(run: Run, cut: int, keep: Keep) -> str:
    """What is wrong after a power loss; empty if nothing is."""
    with tempfile.TemporaryDirectory(dir=FAST_DISK) as name:
        put_back(image(run.operations[:cut], keep), Path(name))
        store = Store(SqliteLog(Path(name) / "log.db"), project)
        try:
            await store.open()
        except VacateError as error:
            return f"cannot be opened: {error}"
        try:
            return difference(run, cut, store)
        finally:
            await store.aclose()


def difference(run: Run, cut: int, store: Store) -> str:
    promised = run.promised(cut)
    if store.revision < promised:
        return f"revision {promised} was confirmed, {store.revision} is the newest that is left"
    expected = run.model.objects(store.revision)
    entries = store.list("pods").entries
    if len(entries) != len(expected) or not all(same_entry(e, expected.get(e.key)) for e in entries):
        return f"at revision {store.revision} the objects are others"
    return ""


def cuts(run: Run, random: Random) -> list[int]:
    """Right after acknowledgements, where most is at stake, and anywhere."""
    moments = [done for done, _ in run.confirmed]
    return random.sample(moments, CUTS // 2) + random.choices(range(len(run.operations) + 1), k=CUTS // 2)


async def damages(run: Run, seed: int) -> list[str]:
    random = Random(seed)
    ways = [lost, kept, garbage, torn(random)]
    found = [await damage(run, cut, ways[number % 4]) for number, cut in enumerate(cuts(run, random))]
    return [what for what in found if what]


def safe_log(path: Path) -> Log:
    return SqliteLog(path, open_file=SmallFile)


async def test_nothing_that_was_confirmed_is_lost(tmp_path: Path) -> None:
    run = await recorded_run(tmp_path, safe_log)
    assert run.model.revision == 1 + WRITERS * WRITES
    assert {operation.kind for operation in run.operations} >= {"write", "sync", "delete"}
    assert any(
        operation.path.endswith("log.db") for operation in run.operations[200:-50]
    )  # it was moved on the way
    assert await damages(run, seed=1) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "log",
    [
        lambda path: SqliteLog(path, open_file=LazyFile),
        lambda path: SqliteLog(path, open_file=AlmostLazyFile),
        EagerLog,
    ],
    ids=["synchronous off", "synchronous normal", "confirmed too early"],
)
async def test_this_test_notices_logs_that_are_not_safe(tmp_path: Path, log: Callable[[Path], Log]) -> None:
    run = await recorded_run(tmp_path, log)
    found = await damages(run, seed=1)
    assert any("was confirmed" in what or "cannot be opened" in what for what in found)


async def test_each_acknowledged_batch_was_synced_by_itself(tmp_path: Path) -> None:
    with recorded() as disk:
        store = await opened(SqliteLog(tmp_path / "log.db"))
        for number in range(20):
            start = len(disk.operations)
            await store.put(pod(str(number)), lambda revision: f"{revision}||".encode()).done()
            operations = [
                operation for operation in disk.operations[start:] if operation.path.endswith("-wal")
            ]
            assert operations[0].kind == "write"
            assert operations[-1].kind == "sync"
        await store.aclose()
