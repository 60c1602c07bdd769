"""Reading, writing, waiting: one case for each promise of the store."""

from __future__ import annotations

import asyncio

import pytest

from embedded.store.harness import GatedLog, body, breathe, opened, pod, project
from vacate.embedded.store.commit import BATCH_LIMIT
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Key
from vacate.errors import KeyChanged, KeyExists, RevisionCompacted, RevisionTooNew, StoreError, StoreReadOnly
from vacate.metrics import Metrics

pytestmark = pytest.mark.unit


async def test_an_empty_store_is_at_revision_one_and_the_first_write_gets_two() -> None:
    store = await opened(MemoryLog())
    assert (store.revision, store.tip_revision, store.compacted) == (1, 1, 1)
    entry = await store.put(pod("a"), body(text="x"), expect=0).done()
    assert (entry.revision, entry.created, entry.value) == (2, 2, b"2||x")
    assert store.get(pod("a")) is entry
    await store.aclose()


async def test_one_counter_counts_for_all_resources() -> None:
    store = await opened(MemoryLog())
    writes = [store.put(Key(r, "", "x"), body()) for r in ("pods", "nodes", "leases", "pods")]
    assert [w.entry.revision for w in writes] == [2, 3, 4, 5]
    assert writes[3].entry.created == 2
    await store.aclose()


@pytest.mark.parametrize(
    ("exists", "expect", "error"),
    [
        (False, None, None),
        (False, 0, None),
        (False, 2, KeyChanged),
        (True, None, None),
        (True, 0, KeyExists),
        (True, 2, None),
        (True, 3, KeyChanged),
    ],
)
async def test_put_compares_with_the_tip(
    exists: bool, expect: int | None, error: type[StoreError] | None
) -> None:
    store = await opened(GatedLog())
    if exists:
        store.put(pod("a"), body())
    tip = store.tip_revision
    if error is None:
        store.put(pod("a"), body(), expect=expect)
        assert store.tip_revision == tip + 1
    else:
        with pytest.raises(error):
            store.put(pod("a"), body(), expect=expect)
        assert store.tip_revision == tip
    await store.aclose()


@pytest.mark.parametrize(
    ("exists", "expect", "works"),
    [
        (False, None, False),
        (False, 2, False),
        (True, None, True),
        (True, 2, True),
        (True, 3, False),
        (True, 0, False),
    ],
)
async def test_delete_compares_with_the_tip(exists: bool, expect: int | None, works: bool) -> None:
    store = await opened(MemoryLog())
    if exists:
        store.put(pod("a"), body())
    if works:
        entry = await store.delete(pod("a"), body(text="last"), expect=expect).done()
        assert entry.value == b"3||last"
        assert entry.created == 2
        assert store.get(pod("a")) is None
    else:
        with pytest.raises(KeyChanged):
            store.delete(pod("a"), body(), expect=expect)
    await store.aclose()


async def test_writes_under_way_show_at_the_tip_and_nowhere_else() -> None:
    log = GatedLog()
    store = await opened(log)
    await store.put(pod("a"), body(text="old")).done()
    log.gate.set_open(False)
    created = store.put(pod("b"), body(), expect=0)
    replaced = store.put(pod("a"), body(text="new"), expect=2)
    again = store.put(pod("a"), body(text="newer"), expect=replaced.entry.revision)
    gone = store.delete(pod("b"), body(), expect=created.entry.revision)
    await breathe()
    assert store.tip(pod("a")) is again.entry
    assert store.tip(pod("b")) is None
    assert list(store.tip_list("pods")) == [again.entry]
    assert list(store.tip_list("pods", "elsewhere")) == []
    old = store.get(pod("a"))
    assert old is not None
    assert old.value == b"2||old"
    assert store.get(pod("b")) is None
    assert list(store.list("pods").entries) == [old]
    assert (store.revision, store.tip_revision) == (2, 6)
    log.gate.set_open(True)
    assert (await gone.done()).revision == 6
    assert list(store.list("pods").entries) == [again.entry]
    assert list(store.list("pods", at=3).entries) == [old, created.entry]
    await store.aclose()


async def test_what_queues_during_a_sync_is_the_next_batch() -> None:
    log = GatedLog()
    store = await opened(log)
    log.gate.set_open(False)
    first = store.put(pod("a"), body())
    await breathe()
    rest = [store.put(pod(str(n)), body()) for n in range(5)]
    await breathe()
    log.gate.let_through()
    await first.done()
    assert store.revision == 2
    assert not log.batches[1:]
    log.gate.set_open(True)
    await asyncio.gather(*(w.done() for w in rest))
    assert log.batches == [1, 5]
    await store.aclose()


async def test_batches_have_a_limit() -> None:
    log = GatedLog()
    store = await opened(log)
    last = [store.put(pod(str(n)), body()) for n in range(BATCH_LIMIT + 1)][-1]
    await last.done()
    assert log.batches == [BATCH_LIMIT, 1]
    await store.aclose()


async def test_a_cancelled_waiter_is_nothing_to_the_others_nor_to_the_write() -> None:
    log = GatedLog()
    store = await opened(log)
    log.gate.set_open(False)
    write = store.put(pod("a"), body())
    waiters = [asyncio.create_task(write.done()) for _ in range(3)]
    await breathe()
    waiters[1].cancel()
    log.gate.set_open(True)
    outcomes = await asyncio.gather(*waiters, return_exceptions=True)
    assert outcomes[0] is outcomes[2] is write.entry
    assert isinstance(outcomes[1], asyncio.CancelledError)
    assert store.get(pod("a")) is write.entry
    await store.aclose()


async def test_an_encoder_that_raises_leaves_nothing_behind() -> None:
    store = await opened(MemoryLog())

    def broken(revision: int) -> bytes:
        raise ValueError("no")

    def unreadable(revision: int) -> bytes:
        return b"not a body"

    for encode in (broken, unreadable):
        with pytest.raises(ValueError, match="no"):
            store.put(pod("a"), encode)
    assert store.tip(pod("a")) is None
    assert (await store.put(pod("a"), body(), expect=0).done()).revision == 2
    await store.aclose()


async def test_a_write_within_an_encoder_is_refused() -> None:
    store = await opened(MemoryLog())

    def nested(revision: int) -> bytes:
        store.put(pod("b"), body())
        return body()(revision)

    with pytest.raises(StoreError, match="while another one was being encoded"):
        store.put(pod("a"), nested)
    await store.aclose()


async def test_listing_of_the_past_and_the_future() -> None:
    store = await opened(MemoryLog())
    for _ in range(4):
        await store.put(pod("a"), body()).done()
    await store.compact(3)
    assert [e.value for e in store.list("pods", at=3).entries] == [b"3||"]
    assert store.list("pods", at=5).revision == 5
    with pytest.raises(RevisionCompacted):
        store.list("pods", at=2)
    with pytest.raises(RevisionTooNew):
        store.list("pods", at=6)
    with pytest.raises(RevisionTooNew):
        await store.compact(6)
    await store.compact(2)  # has been done, and more
    assert store.compacted == 3
    await store.aclose()


async def test_pages_of_one_revision_fit_together_while_writes_go_on() -> None:
    store = await opened(MemoryLog())
    for name in "bdfh":
        await store.put(pod(name), body()).done()
    page = store.list("pods", limit=2)
    assert ([e.key.name for e in page.entries], page.remaining) == (["b", "d"], 2)
    await store.put(pod("g"), body()).done()
    await store.delete(pod("f"), body()).done()
    rest = store.list("pods", at=page.revision, after=("default", "d"), limit=2)
    assert ([e.key.name for e in rest.entries], rest.remaining) == (["f", "h"], 0)
    assert rest.revision == page.revision
    now = store.list("pods", after=("default", "d"))
    assert [e.key.name for e in now.entries] == ["g", "h"]
    await store.aclose()


async def test_waiting_for_a_revision() -> None:
    log = GatedLog()
    store = await opened(log)
    await store.wait_for(1)
    log.gate.set_open(False)
    waiters = [asyncio.create_task(store.wait_for(revision)) for revision in (3, 2, 9)]
    store.put(pod("a"), body())
    await breathe()
    assert not any(w.done() for w in waiters)
    log.gate.let_through()
    await breathe()
    assert [w.done() for w in waiters] == [False, True, False]
    waiters[2].cancel()
    log.gate.set_open(True)
    await store.put(pod("a"), body()).done()
    await waiters[0]
    last = asyncio.create_task(store.wait_for(99))
    await breathe()
    await store.aclose()
    with pytest.raises(StoreReadOnly, match="closed"):
        await last
    with pytest.raises(StoreReadOnly, match="closed"):
        await store.wait_for(99)


async def test_those_who_gave_up_waiting_are_forgotten() -> None:
    store = await opened(MemoryLog())
    waiters = [asyncio.create_task(store.wait_for(revision)) for revision in (9, 5, 2, 7)]
    await breathe()
    waiters[1].cancel()
    await breathe()
    assert [revision for revision, _, _ in sorted(store._progress._waiters)] == [2, 7, 9]
    waiters[2].cancel()
    store._progress.reached(2)  # just as it gives up
    await breathe()
    waiters[3].cancel()
    await breathe()
    assert [revision for revision, _, _ in store._progress._waiters] == [9]
    await store.aclose()
    with pytest.raises(StoreReadOnly):
        await waiters[0]


async def test_closing_commits_what_is_queued_and_takes_no_more() -> None:
    log = MemoryLog()
    store = await opened(log)
    write = store.put(pod("a"), body())
    await store.aclose()
    assert await write.done() is write.entry
    with pytest.raises(StoreReadOnly, match="the store is closed"):
        store.put(pod("b"), body())
    with pytest.raises(StoreReadOnly):
        await store.compact(2)
    await store.aclose()
    assert store.failure is None
    again = await opened(log)
    assert again.get(pod("a")) == write.entry
    await again.aclose()


async def test_a_store_that_is_not_open_takes_no_writes() -> None:
    store = Store(MemoryLog(), project)
    with pytest.raises(StoreReadOnly, match="has not been opened"):
        store.put(pod("a"), body())
    await store.aclose()


async def test_commits_are_counted() -> None:
    metrics = Metrics()
    store = Store(MemoryLog(), project, metrics=metrics)
    await store.open()
    store.put(pod("a"), body())
    await store.put(pod("b"), body()).done()
    await store.aclose()
    assert metrics.registry.get_sample_value("vacate_store_commits_total") == 1
    assert metrics.registry.get_sample_value("vacate_store_records_total") == 2
    assert (store.count("pods"), store.count("pods", "default"), store.count("nodes")) == (2, 2, 0)
    assert store.touched("pods") == 3


async def test_a_damaged_log_is_not_opened() -> None:
    log = MemoryLog()
    store = await opened(log)
    for name in "abc":
        await store.put(pod(name), body()).done()
    await store.delete(pod("a"), body()).done()
    await store.aclose()
    records = dict(log.records)
    log.records = {n: r for n, r in records.items() if n != 3}
    with pytest.raises(StoreError, match="damaged: no record of revision 3"):
        await opened(log)
    log.records = {n: r._replace(name="b") if n == 2 else r for n, r in records.items()}
    with pytest.raises(StoreError, match="revision 5 deletes what was not there"):
        await opened(log)
    log.records = {n: r._replace(value=b"\xff") if n == 2 else r for n, r in records.items()}
    with pytest.raises(StoreError, match=r"revision 2 \(pods/default/a\) cannot be read"):
        await opened(log)
