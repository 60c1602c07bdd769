"""The store against its model: any order of writes, commits, listings, watches, compactions and restarts."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from embedded.store.harness import FAST_DISK, GatedFile, GatedLog, available, body, breathe, project
from embedded.store.model import Model, same_change, same_entry
from support.effort import examples
from vacate.embedded.store.commit import Write
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Change, Key, Scope
from vacate.embedded.store.watch import Watch
from vacate.errors import KeyChanged, KeyExists, RevisionCompacted, WatchOverrun

pytestmark = pytest.mark.unit

T = TypeVar("T")
RESOURCES = st.sampled_from(["pods", "nodes"])
SPACES = st.sampled_from(["a", "a-b", "b"])
NAMES = st.sampled_from(["x", "x-y", "z"])
NODES = st.sampled_from(["", "n1", "n2"])
KEYS = st.builds(Key, RESOURCES, SPACES, NAMES)
SCOPES = st.builds(
    Scope,
    st.sampled_from(["pods", "pods", "nodes", ""]),
    st.just("") | SPACES,
    st.just("") | NAMES,
    st.just("") | NODES,
)
EXPECT = st.sampled_from(["any", "absent", "current", "wrong"])
BACK = st.integers(0, 12)


@dataclass
class Follower:
    """A watch, from where it began, and what came out of it."""

    watch: Watch
    after: int
    taken: list[Change] = field(default_factory=list)
    ended: bool = False


@dataclass
class Reading:
    """A listing in pages, under way."""

    resource: str
    namespace: str
    revision: int
    seen: list[Any]
    left: int


class StoreMachine(RuleBasedStateMachine):
    """Rules for any kind of log; a model remembers everything."""

    followers: Bundle[Follower] = Bundle("followers")
    readings: Bundle[Reading] = Bundle("readings")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.model = Model()
        self.compacted = 1
        self.writes: list[Write] = []
        self.open_followers: list[Follower] = []
        self.begin()
        self.store = self.reopened()

    def begin(self) -> None:
        """Make the place where the log is kept."""

    def log(self) -> GatedLog | GatedFile:
        """The log to open the store on, now or again."""
        raise NotImplementedError

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(self.quietly(work), 60))

    async def quietly(self, work: Coroutine[Any, Any, T]) -> T:
        await self.gated.quiet()
        result = await work
        await self.gated.quiet()
        return result

    def reopened(self) -> Store:
        self.gated = self.log()
        store = Store(self.gated, project)
        self.run(store.open())
        return store

    def teardown(self) -> None:
        try:
            self.close()
        finally:
            self.loop.close()

    def close(self) -> None:
        self.gated.gate.set_open(True)
        self.run(self.store.aclose())
        assert self.store.revision == self.model.revision
        for follower in self.open_followers:
            self.follow(follower)
            assert follower.ended
        self.open_followers.clear()

    # Writing

    def expectation(self, key: Key, kind: str) -> tuple[int | None, bool]:
        """A revision to expect, and whether it fits."""
        tip = self.model.tip(key)
        if kind == "any":
            return None, True
        if kind == "absent":
            return 0, tip is None
        if kind == "current":
            return (tip.revision, True) if tip else (self.model.revision, False)
        return (tip.revision - 1 if tip else 1), False

    @rule(key=KEYS, node=NODES, kind=EXPECT)
    def put(self, key: Key, node: str, kind: str) -> None:
        expect, fits = self.expectation(key, kind)
        if not fits:
            with pytest.raises((KeyExists, KeyChanged)):
                self.store.put(key, body(node), expect=expect)
            return
        write = self.store.put(key, body(node), expect=expect)
        self.model.write(key, node, write.entry.value, deleted=False)
        self.writes.append(write)
        assert write.entry.revision == self.model.revision == self.store.tip_revision

    @rule(key=KEYS, kind=EXPECT)
    def delete(self, key: Key, kind: str) -> None:
        expect, fits = self.expectation(key, kind)
        tip = self.model.tip(key)
        if not fits or tip is None or kind == "absent":
            with pytest.raises(KeyChanged):
                self.store.delete(key, body(), expect=expect)
            return
        write = self.store.delete(key, body(tip.node), expect=expect)
        self.model.write(key, tip.node, write.entry.value, deleted=True)
        self.writes.append(write)

    @rule()
    def settle(self) -> None:
        self.gated.gate.set_open(True)
        for write in self.writes:
            assert self.run(write.done()) is write.entry
        self.writes.clear()
        assert self.store.revision == self.model.revision

    @rule(keys=st.lists(KEYS, min_size=2, max_size=6), node=NODES, apart=st.booleans())
    def burst(self, keys: Sequence[Key], node: str, apart: bool) -> None:
        for key in keys:
            self.put(key, node, "any")
            if apart:  # else they may share a commit
                self.settle()

    @rule(turns=st.integers(1, 6))
    def pass_time(self, turns: int) -> None:
        self.run(breathe(turns))

    @rule()
    def shut_gate(self) -> None:
        self.gated.gate.set_open(False)

    @rule()
    def let_through(self) -> None:
        self.gated.gate.let_through()
        self.run(breathe())

    # Reading

    @rule(
        resource=RESOURCES,
        namespace=st.just("") | SPACES,
        back=BACK,
        limit=st.integers(0, 4),
        target=readings,
    )
    def list(self, resource: str, namespace: str, back: int, limit: int) -> Any:
        revision = max(self.store.revision - back, 1)
        if revision < self.compacted:
            with pytest.raises(RevisionCompacted):
                self.store.list(resource, namespace, at=revision)
            return multiple()
        page = self.store.list(resource, namespace, at=revision if back else None, limit=limit)
        assert page.revision == revision
        reading = Reading(resource, namespace, revision, [*page.entries], page.remaining)
        return reading if self.check(reading) else multiple()

    @rule(reading=consumes(readings), limit=st.integers(0, 4), target=readings)
    def go_on(self, reading: Reading, limit: int) -> Any:
        after = reading.seen[-1].key[1:] if reading.seen else None
        try:
            page = self.store.list(
                reading.resource, reading.namespace, at=reading.revision, after=after, limit=limit
            )
        except RevisionCompacted:
            assert reading.revision < self.compacted
            return multiple()
        assert reading.revision >= self.compacted
        reading.seen += page.entries
        reading.left = page.remaining
        return reading if self.check(reading) else multiple()

    def check(self, reading: Reading) -> bool:
        """Whether the listing fits so far and there is more."""
        whole = self.model.listed(reading.resource, reading.namespace, reading.revision)
        assert len(whole) == len(reading.seen) + reading.left
        assert all(map(same_entry, reading.seen, whole))
        return reading.left > 0

    # Watching

    @rule(scope=SCOPES, back=BACK, capacity=st.sampled_from([1, 2, 1000]), target=followers)
    def watch(self, scope: Scope, back: int, capacity: int) -> Any:
        after = max(self.store.revision - back, 1)
        if after < self.compacted:
            with pytest.raises(RevisionCompacted):
                self.store.watch(scope, after)
            return multiple()
        follower = Follower(self.store.watch(scope, after, capacity=capacity), after)
        self.open_followers.append(follower)
        return follower

    @rule(follower=followers)
    def take(self, follower: Follower) -> None:
        self.follow(follower)

    def follow(self, follower: Follower) -> None:
        """Take what is there: no gap, no repetition, nothing that the log does not have."""
        watch = follower.watch
        try:
            while taken := self.run(available(watch)):
                follower.taken += taken
        except (WatchOverrun, StopAsyncIteration) as ending:
            self.note_end(follower, ending)
        expected = self.model.stream(watch.scope, follower.after, watch.revision)
        assert len(follower.taken) == len(expected)
        assert all(map(same_change, follower.taken, expected))
        if not follower.ended:
            assert watch.revision == self.store.revision

    def note_end(self, follower: Follower, ending: Exception) -> None:
        follower.ended = True
        scope, revision = follower.watch.scope, follower.watch.revision
        if isinstance(ending, WatchOverrun):  # the first change that it misses comes right after
            assert [s.revision for s in self.model.stream(scope, revision, revision + 1)] == [revision + 1]

    @rule(follower=consumes(followers))
    def unwatch(self, follower: Follower) -> None:
        self.follow(follower)
        follower.watch.close()
        follower.watch.close()
        self.follow(follower)
        assert follower.ended
        if follower in self.open_followers:
            self.open_followers.remove(follower)

    # Keeping

    @rule(back=BACK)
    def compact(self, back: int) -> None:
        revision = max(self.store.revision - back, 1)
        self.run(self.store.compact(revision))
        self.compacted = max(self.compacted, revision)

    @rule()
    def restart(self) -> None:
        self.close()
        self.store = self.reopened()
        assert self.store.revision == self.model.revision

    @invariant()
    def committed_and_tip_are_those_of_the_model(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.store.compacted == self.compacted
        assert self.store.tip_revision == self.model.revision
        committed, tip = self.model.objects(self.store.revision), self.model.objects(self.model.revision)
        for key in [*committed, *tip]:
            assert same_entry(self.store.get(key), committed.get(key))
            assert same_entry(self.store.tip(key), tip.get(key))
        for resource in ("pods", "nodes"):
            whole = self.model.listed(resource, "", self.model.revision)
            entries = self.store.tip_list(resource)
            assert len(entries) == len(whole)
            assert all(map(same_entry, entries, whole))


class MemoryMachine(StoreMachine):
    """The log stays, the store on it is another one after a restart."""

    def begin(self) -> None:
        self.memory = GatedLog()

    def log(self) -> GatedLog:
        return self.memory


class SqliteMachine(StoreMachine):
    """A real file and its thread, which is waited for, so that an example runs the same way every time."""

    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=FAST_DISK)

    def log(self) -> GatedFile:
        return GatedFile(Path(self.folder.name) / "log.db")

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self.folder.cleanup()


TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(
    max_examples=examples(80),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = settings(
    max_examples=examples(40),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
