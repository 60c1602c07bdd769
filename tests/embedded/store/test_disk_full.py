"""A full or failing disk: the store turns read-only and says so, reads go on, nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from embedded.store.disk import FULL, IOERR_FSYNC, OK, Disk, DiskOperation, recorded
from embedded.store.harness import available, opened, pod
from vacate.embedded.store.logfile import LogFile
from vacate.embedded.store.sqlite import SqliteLog
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Scope
from vacate.errors import StoreReadOnly

pytestmark = pytest.mark.process


def large(revision: int) -> bytes:
    return f"{revision}||".encode() + b"x" * 2000


class TinyFile(LogFile):
    """SQLite itself refuses to let the file grow."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._connection.execute("PRAGMA max_page_count = 20")


async def fill(store: Store) -> int:
    """Write until it no longer goes; the number of acknowledged writes."""
    for number in range(1000):
        try:
            await store.put(pod(f"{number:04}"), large).done()
        except StoreReadOnly:
            return number
    pytest.fail("the disk was never full")


async def check_read_only(store: Store, acknowledged: int, reason: str) -> None:
    assert reason in (store.failure or "")
    assert store.revision == store.tip_revision == acknowledged + 1
    with pytest.raises(StoreReadOnly, match=reason):
        store.put(pod("more"), large)
    with pytest.raises(StoreReadOnly, match=reason):
        await store.compact(store.revision)
    assert len(store.list("pods").entries) == store.count("pods") == acknowledged
    watch = store.watch(Scope("pods"), 1)
    assert len(await available(watch)) == acknowledged


async def check_reopened(path: Path, acknowledged: int) -> None:
    store = await opened(SqliteLog(path))
    assert store.revision == acknowledged + 1
    assert [e.key.name for e in store.list("pods").entries] == [f"{n:04}" for n in range(acknowledged)]
    assert all(e.value == large(e.revision) for e in store.list("pods").entries)
    await store.put(pod("after"), large).done()
    await store.aclose()


async def test_a_database_that_may_not_grow(tmp_path: Path) -> None:
    store = await opened(SqliteLog(tmp_path / "log.db", open_file=TinyFile))
    acknowledged = await fill(store)
    assert acknowledged > 10
    await check_read_only(store, acknowledged, "database or disk is full")
    await store.aclose()
    await check_reopened(tmp_path / "log.db", acknowledged)


@contextmanager
def full_after(writes: int) -> Iterator[Disk]:
    """A disk on which so many writes to the write-ahead log succeed, and from then on no write at all."""
    left = writes

    def refuse(operation: DiskOperation) -> int:
        nonlocal left
        if operation.kind != "write":
            return OK
        left -= operation.path.endswith("-wal")
        return FULL if left < 0 else OK

    with recorded() as disk:
        disk.refuse = refuse
        yield disk


@pytest.mark.parametrize("writes", [12, 13, 14, 15, 40])  # within a frame, a commit, between two
async def test_a_disk_that_is_full(tmp_path: Path, writes: int) -> None:
    with full_after(writes):
        store = await opened(SqliteLog(tmp_path / "log.db"))
        acknowledged = await fill(store)
        await check_read_only(store, acknowledged, "database or disk is full")
        await store.aclose()
    await check_reopened(tmp_path / "log.db", acknowledged)


async def test_a_sync_that_fails_is_not_acknowledged_and_not_seen(tmp_path: Path) -> None:
    with recorded() as disk:
        store = await opened(SqliteLog(tmp_path / "log.db"))
        watch = store.watch(Scope("pods"), 1)
        await store.put(pod("0000"), large).done()
        disk.refuse = lambda operation: IOERR_FSYNC if operation.kind == "sync" else OK
        with pytest.raises(StoreReadOnly, match="disk I/O error"):
            await store.put(pod("0001"), large).done()
        assert [c.revision for c in await available(watch)] == [2]
        await check_read_only(store, 1, "disk I/O error")
        await store.aclose()
    again = await opened(SqliteLog(tmp_path / "log.db"))
    names = [e.key.name for e in again.list("pods").entries]
    assert names in (["0000"], ["0000", "0001"])  # the second was not confirmed
    await again.aclose()


async def test_a_disk_that_is_full_while_compacting(tmp_path: Path) -> None:
    with recorded() as disk:
        store = await opened(SqliteLog(tmp_path / "log.db"))
        for _ in range(10):
            await store.put(pod("a"), large).done()
        disk.refuse = lambda operation: FULL if operation.kind == "write" else OK
        with pytest.raises(StoreReadOnly, match="database or disk is full"):
            await store.compact(8)
        assert "database or disk is full" in (store.failure or "")
        await store.aclose()
    again = await opened(SqliteLog(tmp_path / "log.db"))
    assert (again.revision, again.compacted) == (11, 1)
    assert len(await available(again.watch(Scope("pods"), 1))) == 10
    await again.aclose()
