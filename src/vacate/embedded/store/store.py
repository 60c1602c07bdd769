"""The store: the log's head in memory, compare-and-swap at the tip, readers and watchers behind the disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from itertools import chain

from vacate.embedded.store.commit import Committer, Write
from vacate.embedded.store.fanout import Fanout, in_scope
from vacate.embedded.store.history import History, in_steps
from vacate.embedded.store.log import Log
from vacate.embedded.store.progress import Progress
from vacate.embedded.store.quota import Quota, cost
from vacate.embedded.store.replay import replay
from vacate.embedded.store.state import State
from vacate.embedded.store.types import Change, Encode, Entry, Key, Page, Project, Scope
from vacate.embedded.store.watch import Watch
from vacate.errors import KeyChanged, KeyExists, RevisionTooNew, StoreError, StoreReadOnly
from vacate.metrics import Metrics

WATCH_CAPACITY = 1000

_log = logging.getLogger(__name__)


class Store:
    """Objects by key, every write with a revision of one counter.

    All methods belong to the thread of the event loop. `put` and `delete` decide at once and against the
    tip, which includes writes on their way to the disk; everything else shows what the disk has.
    """

    def __init__(self, log: Log, project: Project, *, metrics: Metrics | None = None) -> None:
        self._log = log
        self._project = project
        self._metrics = metrics
        self._state = State()
        self._history = History()
        self._fanout = Fanout()
        self._quota = Quota()
        self._progress = Progress()
        self._volume = Progress()  # of the bytes that were ever written, in place of revisions
        self._overlay: dict[Key, Change] = {}  # the newest change under way of each key
        self._tip_revision = self._fanout.revision
        self._committer = Committer(log, self._publish, self._abandon)
        self._compacting = asyncio.Lock()
        self._leftovers: list[int] = []  # obsolete records that an interrupted compaction left on the disk
        self._refusal: str | None = "the store has not been opened"
        self._failure: str | None = None
        self._closed = False

    async def open(self) -> None:
        """Read the log and begin to take writes. StoreError or ConfigError when it cannot be used."""
        try:
            replayed = await replay(self._log, self._project)
        except BaseException:
            await self._log.aclose()
            raise
        self._state, self._history = replayed.state, replayed.history
        self._quota = Quota(sum(cost(entry) for entry in replayed.state.entries()))
        self._leftovers = replayed.leftovers
        self._tip_revision = self._fanout.revision = replayed.revision
        self._refusal = None
        self._committer.start()

    async def aclose(self) -> None:
        """Commit what is queued, end the watches, close the log. May be called any number of times."""
        if self._refusal is None:
            self._refusal = "the store is closed"
        await self._committer.drain()
        self._closed = True
        self._fanout.finish()
        self._progress.fail(self._refusal)
        self._volume.fail(self._refusal)
        async with self._compacting:
            await self._log.aclose()

    # What there is

    @property
    def revision(self) -> int:
        """The newest revision that the disk has and that readers see."""
        return self._fanout.revision

    @property
    def tip_revision(self) -> int:
        """The newest revision given to a write, be it on the disk or under way."""
        return self._tip_revision

    @property
    def compacted(self) -> int:
        """History is kept for the revisions after this one."""
        return self._history.compacted

    @property
    def failure(self) -> str | None:
        """Why the store takes no more writes; None while the log is well."""
        return self._failure

    @property
    def watchers(self) -> int:
        """How many watches are open."""
        return len(self._fanout)

    @property
    def size(self) -> int:
        """How many bytes the objects count for, with the writes that are under way."""
        return self._quota.used

    def limit(self, size: int) -> None:
        """Take no more than so many bytes of objects from now on; what is there stays."""
        self._quota.limit = size

    def touched(self, resource: str) -> int:
        """The revision of the newest change of a resource that this store has seen, or 0.

        What is derived from all objects of a resource is derived anew when it changes.
        """
        return self._state.touched(resource)

    def get(self, key: Key) -> Entry | None:
        """The committed object of that key."""
        return self._state.get(key)

    def tip(self, key: Key) -> Entry | None:
        """The object of that key with the writes that are under way."""
        change = self._overlay.get(key)
        if change is None:
            return self._state.get(key)
        return None if change.deleted else change.after

    def count(self, resource: str, namespace: str = "") -> int:
        """How many committed objects there are."""
        return self._state.count(resource, namespace)

    def list(
        self,
        resource: str,
        namespace: str = "",
        *,
        at: int | None = None,
        after: tuple[str, str] | None = None,
        limit: int = 0,
    ) -> Page:
        """Committed objects in the order of their keys, now or at an older revision that is still kept.

        `after` is the (namespace, name) that the last page ended with; a limit of 0 means all.
        RevisionCompacted and RevisionTooNew say that `at` cannot be served.
        """
        revision = self.revision
        if at is None or at == revision:
            entries, remaining = self._state.window(resource, namespace, {}, after, limit)
            return Page(entries, revision, remaining)
        self._history.check(at, revision)
        differences = self._history.differences(resource, namespace, at)
        entries, remaining = self._state.window(resource, namespace, differences, after, limit)
        return Page(entries, at, remaining)

    def tip_list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        """All objects with the writes that are under way, for decisions that must not rest on less."""
        differences: dict[str, dict[str, Entry | None]] = {}
        for key, change in self._overlay.items():
            if key.resource == resource and namespace in ("", key.namespace):
                after = None if change.deleted else change.after
                differences.setdefault(key.namespace, {})[key.name] = after
        return self._state.window(resource, namespace, differences, None, 0)[0]

    # Writing

    def put(self, key: Key, encode: Encode, *, expect: int | None = None) -> Write:
        """Create or replace an object at the tip.

        `expect` 0: it must not exist (KeyExists); a revision: it must be the newest of the key (KeyChanged);
        None: whatever is there. StoreFull where there is no room. Nothing has happened when this or `encode`
        raises.
        """
        before = self._current(key, expect)
        if before is not None and expect == 0:
            raise KeyExists(f"{_text(key)} exists at revision {before.revision}")
        return self._write(key, encode, before, deleted=False)

    def delete(self, key: Key, encode: Encode, *, expect: int | None = None) -> Write:
        """Remove an object at the tip; `encode` makes its last state, which watchers receive.

        `expect` as for `put`; KeyChanged also when there is no such object.
        """
        before = self._current(key, expect)
        if before is None:
            raise KeyChanged(f"{_text(key)} does not exist")
        if expect == 0:
            raise KeyChanged(f"{_text(key)} exists at revision {before.revision}")
        return self._write(key, encode, before, deleted=True)

    def _require_writable(self) -> None:
        if self._refusal is not None:
            raise StoreReadOnly(self._refusal)

    def _current(self, key: Key, expect: int | None) -> Entry | None:
        self._require_writable()
        current = self.tip(key)
        if expect and (current is None or current.revision != expect):
            found = f"is at revision {current.revision}" if current else "does not exist"
            raise KeyChanged(f"{_text(key)} {found}, not at revision {expect}")
        return current

    def _write(self, key: Key, encode: Encode, before: Entry | None, *, deleted: bool) -> Write:
        revision = self._tip_revision + 1
        value = encode(revision)
        attributes = self._project(key, value)
        if self._tip_revision + 1 != revision:
            raise StoreError("a write was made while another one was being encoded")
        created = before.created if before else revision
        key = before.key if before else key  # one key object for all entries of it
        after = Entry(key, value, revision, created, attributes)
        self._quota.take(before, None if deleted else after)
        change = Change(revision, key, before, after, deleted)
        self._tip_revision = revision
        self._overlay[key] = change
        return self._committer.submit(change)

    # Following

    def watch(self, scope: Scope, after: int, *, capacity: int = WATCH_CAPACITY) -> Watch:
        """The changes of a scope after a revision, those of the past first; then as they are committed.

        RevisionCompacted when they are no longer all kept, RevisionTooNew when the revision does not exist.
        """
        self._history.check(after, self.revision)
        backlog = [c for c in self._history.since(scope.resource, after) if in_scope(scope, c)]
        watch = Watch(self._fanout, scope, backlog, capacity)
        if self._closed:
            watch.finish(self.revision)
        else:
            self._fanout.add(watch)
        return watch

    async def wait_for(self, revision: int) -> None:
        """Return when readers see that revision; StoreReadOnly when it will not come any more."""
        if revision > self.revision:
            await self._progress.wait_for(revision)

    # Compaction

    @property
    def history_size(self) -> int:
        """How many bytes the changes take that are kept."""
        return self._history.size

    def revision_to_keep(self, size: int) -> int:
        """Up to which revision history has to be forgotten for it to take no more than so many bytes."""
        return self._history.revision_to_keep(size)

    async def wait_for_history(self, size: int) -> None:
        """Return when the kept history takes so many bytes; StoreReadOnly when it will not any more."""
        history = self._history
        if history.size < size:
            await self._volume.wait_for(history.written - history.size + size)

    async def compact(self, revision: int) -> None:
        """Forget the history up to a revision, in memory and on the disk, in small steps.

        Does nothing where that has been done. StoreReadOnly when the log fails or is closed on the way.
        """
        if revision > self.revision:
            raise RevisionTooNew(f"revision {revision} does not exist yet, the newest is {self.revision}")
        async with self._compacting:
            self._require_writable()
            if revision <= self.compacted and not self._leftovers:
                return
            steps = chain(in_steps(self._leftovers), self._history.compact(revision))
            step: list[int] = []
            try:
                for step in steps:
                    await self._drop(step)
                step = []
            finally:
                # Where it was interrupted the next compaction goes on, with the oldest records first.
                self._leftovers = [*step, *chain.from_iterable(steps)]

    async def _drop(self, obsolete: Sequence[int]) -> None:
        self._require_writable()
        try:
            await self._log.compact(self._history.compacted, obsolete)
        except Exception as error:
            self._committer.fail(str(error) or type(error).__name__)
            raise StoreReadOnly(str(error)) from error

    # What the committer calls

    def _publish(self, changes: Sequence[Change]) -> None:
        overlay, state, history, fanout = self._overlay, self._state, self._history, self._fanout
        for change in changes:
            state.apply(change)
            history.append(change)
            fanout.publish(change)
            if overlay[change.key] is change:
                del overlay[change.key]
        fanout.revision = changes[-1].revision
        self._progress.reached(fanout.revision)
        self._volume.reached(history.written)
        if self._metrics is not None:
            self._metrics.store_commits.inc()
            self._metrics.store_records.inc(len(changes))
            self._metrics.store_bytes.set(self._quota.used)

    def _abandon(self, reason: str) -> str:
        self._failure = reason
        self._refusal = f"the store is read-only, its log failed: {reason}"
        _log.error("%s", self._refusal)
        self._overlay.clear()
        self._tip_revision = self.revision
        self._progress.fail(self._refusal)
        self._volume.fail(self._refusal)
        return self._refusal


def _text(key: Key) -> str:
    return f"{key.resource} {key.namespace}/{key.name}" if key.namespace else f"{key.resource} {key.name}"
