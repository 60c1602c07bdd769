"""Compaction: by hand, interrupted, across restarts, and by itself."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from embedded.store.harness import HandClock, available, body, breathe, opened, pod
from vacate.embedded.store.compaction import Compactor, Retention
from vacate.embedded.store.history import STEP
from vacate.embedded.store.log import Record
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.sqlite import SqliteLog
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Scope
from vacate.errors import RevisionCompacted, StoreReadOnly

pytestmark = pytest.mark.unit


def revisions_on_disk(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    found = [row[0] for row in connection.execute("SELECT rev FROM log ORDER BY rev")]
    connection.close()
    return found


async def write(store: Store, names: str, *, deleted: bool = False) -> None:
    for name in names:
        await (store.delete if deleted else store.put)(pod(name), body()).done()


async def test_the_disk_keeps_the_living_and_what_is_still_history(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    store = await opened(SqliteLog(path))
    await write(store, "abab")  # 2 3 4 5
    await write(store, "a", deleted=True)  # 6
    await write(store, "b")  # 7
    await store.compact(6)
    await store.aclose()
    assert revisions_on_disk(path) == [5, 7]
    store = await opened(SqliteLog(path))
    assert (store.revision, store.compacted) == (7, 6)
    assert [c.revision for c in await available(store.watch(Scope("pods"), 6))] == [7]
    with pytest.raises(RevisionCompacted):
        store.watch(Scope("pods"), 5)
    with pytest.raises(RevisionCompacted):
        store.list("pods", at=5)
    assert [e.revision for e in store.list("pods", at=6).entries] == [5]
    await store.aclose()


async def test_the_counter_never_goes_back_even_when_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    store = await opened(SqliteLog(path))
    await write(store, "a")
    await write(store, "a", deleted=True)
    await store.compact(3)
    await store.aclose()
    assert revisions_on_disk(path) == []
    store = await opened(SqliteLog(path))
    assert (store.revision, store.compacted) == (3, 3)
    await write(store, "a")
    assert store.revision == 4
    await store.aclose()


async def test_history_on_disk_serves_watches_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    store = await opened(SqliteLog(path))
    await write(store, "aba")
    await write(store, "b", deleted=True)
    before = await available(store.watch(Scope("pods"), 1))
    await store.aclose()
    store = await opened(SqliteLog(path))
    assert await available(store.watch(Scope("pods"), 1)) == before
    await store.aclose()


class CountingLog(MemoryLog):
    """Remembers the steps, and can hold them up or cut the power after some."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[list[int]] = []
        self.stop_after: int | None = None
        self.held: asyncio.Event | None = None

    async def compact(self, revision: int, obsolete: Sequence[int]) -> None:
        if self.held:
            await self.held.wait()
        if self.stop_after is not None and len(self.steps) >= self.stop_after:
            raise OSError("power is gone")
        self.steps.append(list(obsolete))
        await super().compact(revision, obsolete)


@pytest.mark.parametrize("steps", range(4))
async def test_interrupted_anywhere_nothing_comes_back_and_the_next_one_finishes(steps: int) -> None:
    log = CountingLog()
    store = await opened(log)
    for number in range(STEP):
        store.put(pod(str(number)), body())
    for number in range(STEP):
        last = store.delete(pod(str(number)), body())
    await last.done()
    await write(store, "z")
    revision = store.revision
    log.stop_after = steps
    if steps < 3:
        with pytest.raises(StoreReadOnly, match="power is gone"):
            await store.compact(revision)
    else:
        await store.compact(revision)
    await store.aclose()
    log.stop_after = None
    store = await opened(log)
    assert [e.key.name for e in store.list("pods").entries] == ["z"]
    assert store.revision == revision
    assert store.compacted == (revision if steps else 1)
    await store.compact(revision)
    assert list(log.records) == [revision]
    assert max(map(len, log.steps)) <= STEP
    await store.aclose()


async def test_a_cancelled_compaction_is_finished_by_the_next() -> None:
    log = CountingLog()
    store = await opened(log)
    for _ in range(4):
        await write(store, "ab")
    log.held = asyncio.Event()
    task = asyncio.create_task(store.compact(9))
    await breathe()
    task.cancel()
    await asyncio.wait([task])
    log.held = None
    await store.compact(9)
    assert sorted(log.records) == [8, 9]
    await store.aclose()


async def test_writers_do_not_wait_for_a_compaction() -> None:
    log = CountingLog()
    store = await opened(log)
    for number in range(4 * STEP):
        last = store.put(pod(str(number % 10)), body())
    await last.done()
    log.held = gate = asyncio.Event()
    compaction = asyncio.create_task(store.compact(store.revision))
    await breathe()
    await store.put(pod("during"), body()).done()  # a compaction that hangs does not hold up writes
    gate.set()
    await compaction
    assert len(log.steps) == 4
    await store.aclose()


async def run_with(
    retention: Retention,
) -> tuple[Store, HandClock, asyncio.Task[None]]:
    store, clock = await opened(MemoryLog()), HandClock()
    return store, clock, asyncio.create_task(Compactor(store, clock, retention).run())


async def test_too_long_a_history_is_cut() -> None:
    store, _, task = await run_with(Retention(changes=100, seconds=1000))
    for number in range(124):
        await store.put(pod(str(number % 5)), body()).done()
    await breathe()
    assert store.compacted == 1
    await store.put(pod("x"), body()).done()
    await breathe()
    assert store.compacted == store.revision - 100
    await store.aclose()
    await task


@pytest.mark.thorough
async def test_too_heavy_a_history_is_cut() -> None:
    """Three hundred updates of one object of a megabyte keep a few of them, not all."""
    size = 8 * 1024 * 1024
    store, _, task = await run_with(Retention(size=size))
    value = body(text="x" * 1024 * 1024)
    for _ in range(300):
        await store.put(pod("heavy"), value).done()
        await breathe()
        assert store.history_size <= size + size // 4 + 3 * 1024 * 1024
    assert store.revision - store.compacted in (3, 4)
    await store.aclose()
    await task


async def test_one_change_that_is_too_heavy_alone_is_forgotten() -> None:
    store, _, task = await run_with(Retention(size=1000))
    await store.put(pod("heavy"), body(text="x" * 10_000)).done()
    await breathe()
    assert (store.compacted, store.history_size) == (store.revision, 0)
    assert store.get(pod("heavy")) is not None
    await store.aclose()
    await task


async def test_too_old_a_history_is_cut() -> None:
    store, clock, task = await run_with(Retention(changes=100, seconds=60))
    await clock.advance(0)
    await write(store, "abc")
    await clock.advance(60)
    assert store.compacted == 1
    await write(store, "d")
    await clock.advance(15)
    assert store.compacted == 4
    await clock.advance(75)
    assert store.compacted == 5
    await store.aclose()
    await task


async def test_the_compactor_ends_with_the_store() -> None:
    store, clock, task = await run_with(Retention())
    await clock.advance(1)
    await store.aclose()
    await task
    store = await opened(MemoryLog())
    task = asyncio.create_task(Compactor(store, clock, Retention()).run())
    await breathe()
    task.cancel()
    await asyncio.wait([task])
    await breathe()
    assert store.compacted == 1
    await store.aclose()


async def test_records_of_another_kind_of_log_replay_alike(tmp_path: Path) -> None:
    log, file = MemoryLog(), SqliteLog(tmp_path / "log.db")
    stores = [await opened(log), await opened(file)]
    for store in stores:
        await write(store, "abca")
        await write(store, "b", deleted=True)
        await store.compact(4)
        await store.aclose()
    kept: list[list[Record]] = []
    for again in (log, SqliteLog(tmp_path / "log.db")):
        await again.open()
        kept.append([record async for run in again.replay() for record in run])
        await again.aclose()
    assert kept[0] == kept[1]
