"""A log that fails: nothing unacknowledged was seen, dependants fail, the store goes on for readers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from embedded.store.harness import GatedLog, HandClock, available, body, breathe, opened, pod
from vacate.embedded.store.log import Record
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.types import Scope
from vacate.errors import StoreReadOnly

pytestmark = pytest.mark.unit


async def test_a_failed_batch_takes_everything_behind_it_along() -> None:
    log = GatedLog()
    store = await opened(log)
    watch = store.watch(Scope("pods"), 1)
    good = await store.put(pod("a"), body(text="good")).done()
    log.gate.set_open(False)
    log.fail_after(0, "no space left")
    failing = store.put(pod("a"), body(text="bad"))
    await breathe()
    dependant = store.put(pod("a"), body(), expect=failing.entry.revision)
    unrelated = store.put(pod("b"), body())
    waiters = [asyncio.create_task(w.done()) for w in (failing, dependant, unrelated)]
    late = asyncio.create_task(store.wait_for(3))
    await breathe()
    log.gate.set_open(True)
    await breathe()
    for waiter in (*waiters, late):
        with pytest.raises(StoreReadOnly, match="read-only, its log failed: no space left"):
            await waiter
    with pytest.raises(StoreReadOnly, match="no space left"):
        await failing.done()
    assert store.failure == "no space left"
    assert store.get(pod("a")) is store.tip(pod("a")) is good
    assert store.tip(pod("b")) is None
    assert (store.revision, store.tip_revision) == (2, 2)
    assert [c.after for c in await available(watch)] == [good]
    assert watch.revision == 2
    await store.aclose()


async def test_a_failed_store_refuses_writes_and_serves_reads_and_watches() -> None:
    log = MemoryLog()
    store = await opened(log)
    entry = await store.put(pod("a"), body()).done()
    log.fail_after(0)
    with pytest.raises(StoreReadOnly):
        await store.put(pod("b"), body()).done()
    for refused in (store.put, store.delete):
        with pytest.raises(StoreReadOnly, match="injected failure"):
            refused(pod("a"), body())
    with pytest.raises(StoreReadOnly):
        await store.compact(2)
    assert list(store.list("pods").entries) == [entry]
    assert list(store.tip_list("pods")) == [entry]
    watch = store.watch(Scope("pods"), 1)
    assert [c.after for c in await available(watch)] == [entry]
    assert not watch.closed
    await store.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(watch)
    assert store.failure == "injected failure"
    log.repair()
    again = await opened(log)
    assert again.revision == 2
    await again.aclose()


async def test_a_disk_that_failed_to_report_may_show_the_write_after_a_restart() -> None:
    log = MemoryLog()
    store = await opened(log)
    log.fail_after(0, keep=True)
    write = store.put(pod("a"), body())
    with pytest.raises(StoreReadOnly):
        await write.done()
    assert store.get(pod("a")) is None
    await store.aclose()
    log.repair()
    again = await opened(log)
    assert again.get(pod("a")) == write.entry
    await again.aclose()


async def test_a_failing_compaction_makes_the_store_read_only_too() -> None:
    log = MemoryLog()
    store = await opened(log)
    await store.put(pod("a"), body()).done()
    log.fail_after(0, "input/output error")
    with pytest.raises(StoreReadOnly, match="input/output error"):
        await store.compact(2)
    assert store.failure == "input/output error"
    await store.aclose()


class CancelledLog(MemoryLog):
    async def append(self, records: Sequence[Record]) -> None:
        raise asyncio.CancelledError


async def test_a_cancelled_committer_leaves_nobody_waiting() -> None:
    store = await opened(CancelledLog())
    with pytest.raises(StoreReadOnly, match="the task that writes to the log ended"):
        await store.put(pod("a"), body()).done()
    assert store.get(pod("a")) is None
    await store.aclose()


async def test_latency_is_spent_on_the_clock() -> None:
    clock = HandClock()
    delays = iter([0.5, 1.0, 0.25])
    store = await opened(MemoryLog(clock=clock, latency=lambda: next(delays)))
    first = store.put(pod("a"), body())
    await clock.advance(0.4)
    second = store.put(pod("b"), body())
    await clock.advance(0.2)
    assert (await first.done()).revision == store.revision == 2
    await clock.advance(0.8)
    assert store.revision == 2
    await clock.advance(0.2)
    assert (await second.done()).revision == store.revision == 3
    compaction = asyncio.create_task(store.compact(3))
    await clock.advance(0.25)
    await compaction
    await store.aclose()


def test_latency_without_a_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a clock"):
        MemoryLog(latency=lambda: 1.0)
