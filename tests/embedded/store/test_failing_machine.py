"""A log that fails at some batch, under any load: the promises that hold before, during and after."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from embedded.store.harness import GatedLog, available, body, breathe, project
from embedded.store.model import Model, same_change, same_entry
from support.effort import examples
from vacate.embedded.store.commit import Write
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Change, Key, Scope
from vacate.errors import StoreReadOnly

pytestmark = pytest.mark.unit

T = TypeVar("T")
KEYS = st.builds(Key, st.just("pods"), st.sampled_from(["a", "b"]), st.sampled_from(["x", "y"]))


class FailingMachine(RuleBasedStateMachine):
    """Writes, some of them waited for, a watcher that always looks, and a log with a limited life."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.model = Model()
        self.log = GatedLog()
        self.store = Store(self.log, project)
        self.run(self.store.open())
        self.watch = self.store.watch(Scope("pods"), 1)
        self.seen: list[Change] = []
        self.waiters: list[tuple[Write, asyncio.Task[Any]]] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, 60))

    @initialize(appends=st.integers(0, 6), keep=st.booleans())
    def limit_its_life(self, appends: int, keep: bool) -> None:
        self.keep = keep
        self.log.fail_after(appends, "broken", keep=keep)

    @rule(key=KEYS, delete=st.booleans())
    def write(self, key: Key, delete: bool) -> None:
        if self.store.failure:
            with pytest.raises(StoreReadOnly, match="broken"):
                self.store.put(key, body())
            return
        tip = self.model.tip(key)
        operation = self.store.delete if delete and tip else self.store.put
        write = operation(key, body(), expect=tip.revision if tip else 0)
        self.model.write(key, "", write.entry.value, deleted=bool(delete and tip))
        self.waiters.append((write, self.loop.create_task(write.done())))

    @rule(back=st.integers(0, 3))
    @precondition(lambda self: not self.store.failure)
    def compact(self, back: int) -> None:
        revision = max(self.store.revision - back, self.store.compacted)
        try:
            self.run(self.store.compact(revision))
        except StoreReadOnly:
            assert self.store.failure == "broken"

    @rule(is_open=st.booleans())
    def gate(self, is_open: bool) -> None:
        self.log.gate.set_open(is_open)

    @rule(turns=st.integers(1, 8))
    def pass_time(self, turns: int) -> None:
        self.run(breathe(turns))

    @rule()
    def let_through(self) -> None:
        self.log.gate.let_through()
        self.run(breathe())

    @invariant()
    def what_is_acknowledged_or_seen_is_in_the_log(self) -> None:
        self.seen += self.run(available(self.watch))
        held = max([self.log.compacted, *self.log.records])
        acknowledged = [w.entry.revision for w, t in self.waiters if t.done() and not t.exception()]
        assert max(acknowledged, default=1) <= self.store.revision <= held
        expected = self.model.stream(self.watch.scope, 1, self.store.revision)
        assert len(self.seen) == len(expected)
        assert all(map(same_change, self.seen, expected))
        committed = self.model.objects(self.store.revision)
        listed = self.store.list("pods").entries
        assert len(listed) == len(committed)
        assert all(same_entry(e, committed[e.key]) for e in listed)

    @invariant()
    def after_the_failure_nothing_is_left_open(self) -> None:
        if not self.store.failure:
            return
        self.run(breathe())
        assert self.store.tip_revision == self.store.revision
        assert list(self.store.tip_list("pods")) == list(self.store.list("pods").entries)
        for write, task in self.waiters:
            assert task.done()
            failed = isinstance(task.exception(), StoreReadOnly)
            assert failed is (write.entry.revision > self.store.revision)

    def teardown(self) -> None:
        try:
            self.restart()
        finally:
            self.loop.close()

    def restart(self) -> None:
        """What a new store finds is what was acknowledged, and at most the one batch of unknown fate."""
        self.log.gate.set_open(True)
        self.run(self.store.aclose())
        self.run(breathe())
        for _, task in self.waiters:
            assert task.done()
            task.exception()
        again = Store(self.log, project)
        self.run(again.open())
        assert again.revision >= self.store.revision
        if not (self.store.failure and self.keep):
            assert again.revision == self.store.revision
        expected = self.model.objects(again.revision)
        entries = again.list("pods").entries
        assert len(entries) == len(expected)
        assert all(same_entry(e, expected[e.key]) for e in entries)
        self.run(again.aclose())


TestFailing = FailingMachine.TestCase
TestFailing.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
