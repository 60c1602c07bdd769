"""Watches: who receives changes, in which order, from where on, and how they end."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.store.harness import GatedLog, available, body, breathe, opened, pod, project
from vacate.embedded.store.fanout import Fanout, in_scope
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.types import Change, Entry, Key, Scope
from vacate.embedded.store.watch import MAX_BUFFERED_BYTES, TAKE, Watch
from vacate.errors import RevisionCompacted, RevisionTooNew, WatchOverrun

pytestmark = pytest.mark.unit


def at_node(node: str, revision: int = 2, key: Key | None = None) -> Entry:
    key = key or pod("a")
    value = body(node)(revision)
    return Entry(key, value, revision, revision, project(key, value))


def moved(before: str | None, after: str) -> Change:
    return Change(3, pod("a"), None if before is None else at_node(before), at_node(after, 3), deleted=False)


@pytest.mark.parametrize(
    ("scope", "change", "expected"),
    [
        (Scope("pods"), moved(None, ""), True),
        (Scope(""), moved(None, ""), True),
        (Scope("nodes"), moved(None, ""), False),
        (Scope("pods", "default"), moved(None, ""), True),
        (Scope("pods", "other"), moved(None, ""), False),
        (Scope("pods", "default", "a"), moved(None, ""), True),
        (Scope("pods", "", "a"), moved(None, ""), True),
        (Scope("pods", "other", "a"), moved(None, ""), False),
        (Scope("pods", "default", "b"), moved(None, ""), False),
        (Scope("pods", node="n1"), moved(None, "n1"), True),
        (Scope("pods", node="n1"), moved("", "n1"), True),
        (Scope("pods", node="n1"), moved("n1", "n1"), True),
        (Scope("pods", node="n1"), moved("n1", "n2"), True),  # it leaves
        (Scope("pods", node="n1"), moved("n2", "n1"), True),  # it comes
        (Scope("pods", node="n1"), moved("n2", "n3"), False),
        (Scope("pods", node="n1"), moved(None, ""), False),
        (Scope("pods", "other", node="n1"), moved(None, "n1"), False),
        (Scope("pods", "default", "a", "n1"), moved(None, "n1"), True),
        (Scope("pods", "default", "a", "n2"), moved(None, "n1"), False),
    ],
)
def test_scopes(scope: Scope, change: Change, expected: bool) -> None:
    assert in_scope(scope, change) is expected
    fanout = Fanout(2)
    watch = Watch(fanout, scope, [], 10)
    fanout.add(watch)
    fanout.publish(change)
    assert bool(watch._buffer) is expected


SMALL = st.sampled_from(["", "a", "b"])
FULL = st.sampled_from(["a", "b"])
SCOPES = st.builds(Scope, SMALL, SMALL, SMALL, SMALL)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    key = Key(draw(FULL), draw(SMALL), draw(FULL))
    before = at_node(draw(SMALL), 2, key) if draw(st.booleans()) else None
    return Change(3, key, before, at_node(draw(SMALL), 3, key), deleted=draw(st.booleans()))


@settings(deadline=None)
@given(st.lists(SCOPES, max_size=8), changes(), st.sets(st.integers(0, 7)))
def test_the_index_notifies_exactly_those_in_scope_once(
    scopes: list[Scope], change: Change, removed: set[int]
) -> None:
    fanout = Fanout(2)
    watches = [Watch(fanout, scope, [], 10) for scope in scopes]
    for watch in watches:
        fanout.add(watch)
    for number, watch in enumerate(watches):
        if number in removed:
            watch.close()
    fanout.publish(change)
    for number, watch in enumerate(watches):
        expected = [change] if number not in removed and in_scope(watch.scope, change) else []
        assert watch._buffer == expected
    assert len(fanout) == len([n for n in range(len(scopes)) if n not in removed])


async def test_history_first_then_as_it_comes() -> None:
    store = await opened(MemoryLog())
    await store.put(pod("a"), body(text="1")).done()
    await store.put(Key("nodes", "", "n"), body()).done()
    await store.put(pod("a"), body(text="2")).done()
    watch = store.watch(Scope("pods"), 2)
    assert watch.revision == 3  # the node did not match
    await store.delete(pod("a"), body(text="3")).done()
    first, second = await available(watch)
    assert (first.revision, first.deleted, first.before and first.before.value) == (4, False, b"2||1")
    assert (second.revision, second.deleted, second.after.value) == (5, True, b"5||3")
    assert second.before is first.after
    assert watch.revision == 5
    await store.put(Key("nodes", "", "n"), body()).done()
    assert watch.revision == 6  # nothing to send, and yet progress
    await store.aclose()


async def test_a_commit_arrives_as_one_list() -> None:
    store = await opened(MemoryLog())
    watch = store.watch(Scope("pods"), 1)
    waiting = asyncio.create_task(anext(watch))
    await breathe()
    for name in "abc":
        store.put(pod(name), body())
    assert [c.revision for c in await waiting] == [2, 3, 4]
    await store.aclose()


async def test_nothing_is_sent_before_the_log_has_it() -> None:
    log = GatedLog()
    store = await opened(log)
    log.gate.set_open(False)
    watch = store.watch(Scope("pods"), 1)
    write = store.put(pod("a"), body())
    assert await available(watch) == []
    assert watch.revision == 1
    log.gate.set_open(True)
    await write.done()
    assert [c.after for c in await available(watch)] == [write.entry]
    await store.aclose()


async def test_a_long_history_comes_in_portions_and_is_not_an_overrun() -> None:
    store = await opened(MemoryLog())
    count = TAKE + 10
    for number in range(count):
        store.put(pod(str(number)), body())
    await store.wait_for(count + 1)
    watch = store.watch(Scope("pods"), 1, capacity=2)
    await store.put(pod("x"), body()).done()
    assert watch.revision == 1
    assert len(await anext(watch)) == TAKE
    assert watch.revision == TAKE + 1
    assert len(await anext(watch)) == 10
    assert [c.revision for c in await anext(watch)] == [count + 2]
    await store.aclose()


async def test_a_slow_watcher_gets_what_fitted_and_then_the_error() -> None:
    store = await opened(MemoryLog())
    slow, quick = (store.watch(Scope("pods"), 1, capacity=3) for _ in range(2))
    for number in range(5):
        await store.put(pod(str(number)), body()).done()
        assert len(await available(quick)) == 1
    assert slow.closed
    assert store.watchers == 1
    assert [c.revision for c in await anext(slow)] == [2, 3, 4]
    assert slow.revision == 4
    for _ in range(2):
        with pytest.raises(WatchOverrun, match="more than 3 changes"):
            await anext(slow)
    slow.close()
    with pytest.raises(StopAsyncIteration):
        await anext(slow)
    await store.aclose()


async def test_what_waits_for_a_slow_watcher_is_limited_in_bytes() -> None:
    store = await opened(MemoryLog())
    slow = store.watch(Scope("pods"), 1)
    value = body(text="x" * (MAX_BUFFERED_BYTES // 8))
    for _ in range(10):
        await store.put(pod("heavy"), value).done()
    assert slow.closed
    assert len(await anext(slow)) == 8
    with pytest.raises(WatchOverrun, match="bytes"):
        await anext(slow)
    await store.aclose()


async def test_one_large_commit_is_not_the_fault_of_a_watcher_that_kept_up() -> None:
    store = await opened(MemoryLog())
    watch = store.watch(Scope("pods"), 1, capacity=2)
    for number in range(5):
        store.put(pod(str(number)), body())
    await store.wait_for(6)
    assert len(await anext(watch)) == 5
    for number in range(5):
        store.put(pod(str(number)), body())
    await store.wait_for(11)
    store.put(pod("more"), body())
    await store.wait_for(12)
    assert watch.closed
    assert len(await anext(watch)) == 5
    with pytest.raises(WatchOverrun):
        await anext(watch)
    await store.aclose()


async def test_closing_is_idempotent_and_wakes_the_taker() -> None:
    store = await opened(MemoryLog())
    watch = store.watch(Scope("pods"), 1)

    async def take_all() -> int:
        return sum([len(batch) async for batch in watch])

    taker = asyncio.create_task(take_all())
    await breathe()
    watch.close()
    watch.close()
    assert await taker == 0
    assert store.watchers == 0
    await store.put(pod("a"), body()).done()
    assert watch.revision == 1
    watch.close()
    await store.aclose()


async def test_a_closed_watch_drops_what_was_not_taken() -> None:
    store = await opened(MemoryLog())
    await store.put(pod("a"), body()).done()
    watch = store.watch(Scope("pods"), 1)
    watch.close()
    assert watch.revision == 1
    with pytest.raises(StopAsyncIteration):
        await anext(watch)
    await store.aclose()


async def test_closing_the_store_ends_watches_after_their_last_change() -> None:
    store = await opened(MemoryLog())
    watch, idle = store.watch(Scope("pods"), 1), store.watch(Scope("nodes"), 1)
    waiting = asyncio.create_task(anext(idle))
    await breathe()
    store.put(pod("a"), body())
    await store.aclose()
    assert [c.revision async for batch in watch for c in batch] == [2]
    with pytest.raises(StopAsyncIteration):
        await waiting
    assert (watch.revision, idle.revision) == (2, 2)
    watch.close()
    late = store.watch(Scope("pods"), 1)
    assert [c.revision async for batch in late for c in batch] == [2]


async def test_two_takers_are_refused() -> None:
    store = await opened(MemoryLog())
    watch = store.watch(Scope("pods"), 1)
    taker = asyncio.create_task(anext(watch))
    await breathe()
    with pytest.raises(RuntimeError, match="one task at a time"):
        await anext(watch)
    taker.cancel()
    await store.aclose()


async def test_who_waits_until_a_time_gets_what_has_come_by_then() -> None:
    store = await opened(MemoryLog())
    watch = store.watch(Scope("pods"), 1)
    now = asyncio.get_running_loop().time()
    assert await watch.take(now) is None
    assert await watch.take(now + 0.01) is None
    store.put(pod("a"), body())
    await store.wait_for(2)
    assert [c.revision for c in await watch.take(now) or ()] == [2]  # what is there comes before the time
    waiting = asyncio.create_task(watch.take(now + 600))
    await breathe()
    store.put(pod("b"), body())
    assert [c.revision for c in await waiting or ()] == [3]
    watch.close()
    with pytest.raises(StopAsyncIteration):
        await watch.take(now + 600)
    await store.aclose()


@pytest.mark.parametrize("turns", range(6))
async def test_a_cancelled_taker_loses_nothing(turns: int) -> None:
    store = await opened(MemoryLog())
    watch = store.watch(Scope("pods"), 1)
    taker = asyncio.create_task(anext(watch))
    await breathe()
    store.put(pod("a"), body())
    await breathe(turns)  # from before the commit to after the change was taken
    taker.cancel()
    await asyncio.wait([taker])
    taken = [] if taker.cancelled() else taker.result()
    await store.wait_for(2)
    assert [c.revision for c in taken + await available(watch)] == [2]
    await store.aclose()


async def test_revisions_that_cannot_be_watched_from() -> None:
    store = await opened(MemoryLog())
    for _ in range(3):
        await store.put(pod("a"), body()).done()
    await store.compact(3)
    assert [c.revision for c in await available(store.watch(Scope("pods"), 3))] == [4]
    with pytest.raises(RevisionCompacted):
        store.watch(Scope("pods"), 2)
    with pytest.raises(RevisionTooNew):
        store.watch(Scope("pods"), 5)
    assert store.watchers == 1
    await store.aclose()
