"""From the log back to state and history."""

from __future__ import annotations

from sys import intern

from vacate.embedded.store.history import History, obsolete_records
from vacate.embedded.store.log import Log, Record
from vacate.embedded.store.state import State
from vacate.embedded.store.types import Attributes, Change, Entry, Key, Project
from vacate.errors import StoreError


class Replayed:
    """What the records taken so far add up to."""

    def __init__(self, compacted: int, project: Project) -> None:
        self.state = State()
        self.history = History(compacted)
        self.revision = compacted
        self.leftovers: list[int] = []  # records that an interrupted compaction would have dropped
        self._project = project

    def take(self, record: Record) -> None:
        """Take the next record."""
        revision, resource, namespace, name, deleted, created, value = record
        key = Key(intern(resource), intern(namespace), name)
        before = self.state.get(key)
        key = before.key if before is not None else key
        entry = Entry(key, value, revision, created, self._attributes(key, record))
        change = Change(revision, key, before, entry, bool(deleted))
        if revision <= self.history.compacted:
            self._take_settled(change)
        else:
            self._take_recent(change)

    def _take_settled(self, change: Change) -> None:
        self.leftovers += obsolete_records(change)
        if change.before is not None or not change.deleted:
            self.state.apply(change)

    def _take_recent(self, change: Change) -> None:
        if change.revision != self.revision + 1:
            raise StoreError(f"the log is damaged: no record of revision {self.revision + 1}")
        if change.deleted and change.before is None:
            raise StoreError(f"the log is damaged: revision {change.revision} deletes what was not there")
        self.revision = change.revision
        self.history.append(change)
        self.state.apply(change)

    def _attributes(self, key: Key, record: Record) -> Attributes:
        try:
            return self._project(key, record.value)
        except Exception as error:
            where = "/".join(part for part in key if part)
            raise StoreError(
                f"the log is damaged: revision {record.revision} ({where}) cannot be read: {error}"
            ) from error


async def replay(log: Log, project: Project) -> Replayed:
    """Open a log and take all its records."""
    replayed = Replayed(await log.open(), project)
    async for records in log.replay():
        for record in records:
            replayed.take(record)
    return replayed
