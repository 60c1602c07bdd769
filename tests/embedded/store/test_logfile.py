"""The SQLite file: what it holds, what makes it durable, and which files it refuses."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from embedded.store.harness import body, opened, pod, project
from vacate.embedded.store.log import Record
from vacate.embedded.store.logfile import ROWS_OF_AN_INSERT, LogFile
from vacate.embedded.store.sqlite import SqliteLog, WorkerThread
from vacate.embedded.store.store import Store
from vacate.errors import ConfigError, StoreError, VacateError

pytestmark = pytest.mark.unit


def record(revision: int) -> Record:
    return Record(revision, "pods", "default", f"p{revision}", False, revision, b"x")


def log_threads() -> list[threading.Thread]:
    """Those of this process that write logs; other tests may keep a server running beside this one."""
    return [thread for thread in threading.enumerate() if thread.name == "store log"]


def rows(path: Path) -> list[tuple[int, str]]:
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT rev, name FROM log ORDER BY rev").fetchall()
    connection.close()
    return found


def test_commits_are_synced_before_they_return(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log.db")
    assert file._pragma("journal_mode") == "wal"
    assert file._pragma("synchronous") == 2
    assert file._pragma("locking_mode") == "exclusive"
    assert not (tmp_path / "log.db-shm").exists()
    file.close()


@pytest.mark.parametrize("count", [1, 2, ROWS_OF_AN_INSERT, ROWS_OF_AN_INSERT + 1, 3 * ROWS_OF_AN_INSERT])
def test_batches_of_all_sizes(tmp_path: Path, count: int) -> None:
    file = LogFile(tmp_path / "log.db")
    records = [record(revision) for revision in range(2, count + 2)]
    file.append(records)
    assert file.read(0, count + 1) == records
    assert file.read(count, 5) == records[-1:]
    file.close()


def test_a_batch_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log.db")
    file.append([record(5)])
    for count in (2, ROWS_OF_AN_INSERT + 50):
        with pytest.raises(StoreError, match="UNIQUE"):
            file.append([record(1000 + n) for n in range(count)] + [record(5)])
    assert file.read(0, 10) == [record(5)]
    file.close()


def test_compaction_is_remembered_and_drops_rows(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log.db")
    assert file.compacted() == 1
    file.append([record(n) for n in range(2, 8)])
    file.compact(5, [2, 4])
    file.compact(3, [])  # never goes back
    file.close()
    again = LogFile(tmp_path / "log.db")
    assert again.compacted() == 5
    assert [r.revision for r in again.read(0, 10)] == [3, 5, 6, 7]
    again.close()


def other_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()


def other_application_id(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA application_id = 77")
    connection.close()


def newer_format(path: Path) -> None:
    LogFile(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def text(path: Path) -> None:
    path.write_text("apiVersion: v1\nkind: Config\n" * 100)


def folder(path: Path) -> None:
    path.mkdir()


def damaged(path: Path) -> None:
    file = LogFile(path)
    file.append([record(n)._replace(value=bytes(3000)) for n in range(2, 200)])
    file.close()
    content = bytearray(path.read_bytes())
    content[8192 : len(content) // 2] = b"\xa5" * (len(content) // 2 - 8192)
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    file = LogFile(path)
    file.append([record(n)._replace(value=bytes(3000)) for n in range(2, 200)])
    file.close()
    path.write_bytes(path.read_bytes()[: 20 * 4096])


def without_compaction(path: Path) -> None:
    LogFile(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM compaction")
    connection.close()


def wrong_types(path: Path) -> None:
    file = LogFile(path)
    file.append([record(2)])
    file._connection.execute("UPDATE log SET value = 'text'")
    file.close()


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (other_program, ConfigError, "is an SQLite file of another program"),
        (other_application_id, ConfigError, "is an SQLite file of another program"),
        (newer_format, ConfigError, "has format 99, this version of Vacate reads 1"),
        (text, ConfigError, "is not a log of Vacate"),
        (folder, ConfigError, "cannot be opened"),
        (damaged, StoreError, "is damaged"),
        (cut_short, StoreError, "is damaged"),
        (wrong_types, StoreError, "is damaged: revision 2 has the wrong types"),
        (without_compaction, StoreError, "is damaged: its compaction revision is missing"),
    ],
)
async def test_files_that_are_no_log_are_refused_with_one_clear_error(
    tmp_path: Path, make: type, error: type[VacateError], says: str
) -> None:
    path = tmp_path / "log.db"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    others = log_threads()
    store = Store(SqliteLog(path), project)
    with pytest.raises(error, match=says) as caught:
        await store.open()
    assert str(path) in str(caught.value)
    await store.aclose()
    assert log_threads() == others
    if make in (other_program, other_application_id, text):
        assert path.read_bytes() == before


async def test_a_missing_folder_and_a_second_opener_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be opened"):
        await opened(SqliteLog(tmp_path / "missing" / "log.db"))
    store = await opened(SqliteLog(tmp_path / "log.db"))
    with pytest.raises(ConfigError, match="is in use by another process"):
        await opened(SqliteLog(tmp_path / "log.db"))
    await store.put(pod("a"), body()).done()
    await store.aclose()


def test_an_empty_file_becomes_a_log(tmp_path: Path) -> None:
    (tmp_path / "log.db").touch()
    file = LogFile(tmp_path / "log.db")
    file.append([record(2)])
    file.close()
    assert rows(tmp_path / "log.db") == [(2, "p2")]


async def test_one_thread_from_opening_to_closing(tmp_path: Path) -> None:
    threads: set[int] = set()
    others = log_threads()

    class Watched(LogFile):
        def append(self, records: object) -> None:
            threads.add(threading.get_ident())
            super().append(records)  # type: ignore[arg-type]

        def compact(self, revision: int, obsolete: object) -> None:
            threads.add(threading.get_ident())
            super().compact(revision, obsolete)  # type: ignore[arg-type]

    store = await opened(SqliteLog(tmp_path / "log.db", open_file=Watched))
    for _ in range(3):
        await store.put(pod("a"), body()).done()
    await store.compact(3)
    await store.aclose()
    await store.aclose()
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    assert log_threads() == others


async def test_a_thread_that_does_not_run_takes_no_calls() -> None:
    thread = WorkerThread("idle")
    with pytest.raises(RuntimeError, match="'idle' does not run"):
        await thread.call(threading.get_ident)
    thread.start()
    assert await thread.call(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await thread.call(lambda: 1 // 0)
    await thread.stop()
    await thread.stop()
    with pytest.raises(RuntimeError):
        await thread.call(threading.get_ident)


async def test_closing_waits_for_what_was_handed_over(tmp_path: Path) -> None:
    store = await opened(SqliteLog(tmp_path / "log.db"))
    writes = [store.put(pod(str(n)), body()) for n in range(50)]
    await store.aclose()
    assert [(await w.done()).revision for w in writes] == list(range(2, 52))
    assert [n for n, _ in rows(tmp_path / "log.db")] == list(range(2, 52))


def test_only_the_owner_may_read_the_files(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log.db")
    try:
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        assert set(modes.values()) == {0o600}, modes
    finally:
        file.close()
