"""The SQLite file of a log, synchronously. All methods belong to one thread, from opening to closing.

One connection, held exclusively; write-ahead log; `synchronous=FULL`, so that a commit returns after the sync
of the write-ahead log. A batch is one INSERT of many rows in its own transaction: in Python each call into
SQLite gives up the interpreter lock, and a busy event loop would make every single row wait for it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from vacate.embedded.store.log import FIRST_REVISION, Record
from vacate.errors import ConfigError, StoreError

APPLICATION_ID = 0x56414354  # "VACT", in the header of the file
VERSION = 1
ROWS_OF_AN_INSERT = 128  # times seven columns: SQLite before 3.32 takes 999 values

_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE log (
  rev INTEGER PRIMARY KEY, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
  deleted INTEGER NOT NULL, create_rev INTEGER NOT NULL, value BLOB NOT NULL
);
CREATE TABLE compaction (only INTEGER PRIMARY KEY CHECK (only = 1), rev INTEGER NOT NULL);
INSERT INTO compaction VALUES (1, {first});
PRAGMA application_id = {application};
PRAGMA user_version = {version};
COMMIT;
"""
_SETTINGS = (
    ("journal_mode", "wal", "wal"),
    ("synchronous", "full", 2),
    ("fullfsync", "on", 1),  # macOS: a plain sync does not reach the disk there
    ("checkpoint_fullfsync", "on", 1),
    ("journal_size_limit", str(64 << 20), 64 << 20),
)


_TYPES = (int, str, str, str, int, int, bytes)


class LogFile:
    """A log in one file, for one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._explained():
            self._connection = _connect(path)
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def compacted(self) -> int:
        """The compaction revision."""
        with self._explained():
            row = self._connection.execute("SELECT rev FROM compaction").fetchone()
        if row is None or not isinstance(row[0], int):
            raise StoreError(f"{self._path} is damaged: its compaction revision is missing")
        return row[0]

    def read(self, after: int, limit: int) -> list[Record]:
        """The next records after a revision."""
        with self._explained():
            rows = self._connection.execute(
                "SELECT rev, resource, namespace, name, deleted, create_rev, value FROM log"
                " WHERE rev > ? ORDER BY rev LIMIT ?",
                (after, limit),
            )
            return [self._record(row) for row in rows]

    def _record(self, row: tuple[Any, ...]) -> Record:
        if tuple(map(type, row)) != _TYPES:  # a damaged page can hold anything
            raise StoreError(f"{self._path} is damaged: revision {row[0]} has the wrong types")
        return Record._make(row)

    def append(self, records: Sequence[Record]) -> None:
        """Commit the records; when this returns they are synced."""
        with self._explained():
            if len(records) <= ROWS_OF_AN_INSERT:
                self._insert(records)
                return
            with self._transaction():
                for start in range(0, len(records), ROWS_OF_AN_INSERT):
                    self._insert(records[start : start + ROWS_OF_AN_INSERT])

    def compact(self, revision: int, obsolete: Sequence[int]) -> None:
        """Remember the compaction revision and drop records, in one transaction."""
        with self._explained(), self._transaction():
            self._connection.execute("UPDATE compaction SET rev = max(rev, ?)", (revision,))
            if obsolete:
                marks = ",".join("?" * len(obsolete))
                self._connection.execute(f"DELETE FROM log WHERE rev IN ({marks})", tuple(obsolete))  # noqa: S608

    def close(self) -> None:
        """Let go of the file. What was committed is safe whether or not this succeeds."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def _insert(self, records: Sequence[Record]) -> None:
        marks = ",".join(["(?,?,?,?,?,?,?)"] * len(records))
        self._connection.execute(f"INSERT INTO log VALUES {marks}", tuple(chain.from_iterable(records)))  # noqa: S608

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def _prepare(self) -> None:
        connection = self._connection
        # Held from the first access to the last: no second process, and no shared-memory file.
        connection.execute("PRAGMA locking_mode = exclusive")
        if self._is_new():
            script = _SCHEMA.format(first=FIRST_REVISION, application=APPLICATION_ID, version=VERSION)
            connection.executescript(script)
        self._set()
        _sync_folder(self._path.parent)

    def _is_new(self) -> bool:
        application, version = self._pragma("application_id"), self._pragma("user_version")
        if application == APPLICATION_ID:
            if version != VERSION:
                raise ConfigError(
                    f"{self._path} has format {version}, this version of Vacate reads {VERSION}"
                )
            return False
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != 0 or tables != 0:
            raise ConfigError(f"{self._path} is an SQLite file of another program")
        return True

    def _set(self) -> None:
        for name, value, reads in _SETTINGS:
            self._connection.execute(f"PRAGMA {name} = {value}")
            if self._pragma(name) != reads:
                raise StoreError(f"{self._path}: SQLite refuses {name} = {value}, the log would not be safe")

    def _pragma(self, name: str) -> object:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise _explain(self._path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    # Objects are nobody else's business, whatever folder they lie in. The files beside it get the same mode.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    # No implicit transactions; statements of all batch sizes stay prepared.
    return sqlite3.connect(path, timeout=0, isolation_level=None, cached_statements=ROWS_OF_AN_INSERT + 16)


def _explain(path: Path, error: Exception) -> ConfigError | StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return ConfigError(f"{path} is not a log of Vacate: {error}")
    if code == sqlite3.SQLITE_CANTOPEN:
        return ConfigError(f"{path} cannot be opened: {error}")
    if code == sqlite3.SQLITE_BUSY:
        return ConfigError(f"{path} is in use by another process")
    if code == sqlite3.SQLITE_CORRUPT:
        return StoreError(f"{path} is damaged: {error}")
    return StoreError(f"{path}: {error}")


def _sync_folder(folder: Path) -> None:
    """Make it durable which files there are: the new log, and no journal from before the write-ahead log."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
