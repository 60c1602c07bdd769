"""The bytes of all objects are bounded, and a full store can be emptied."""

from __future__ import annotations

import pytest

from embedded.store.harness import GatedLog, body, opened, pod
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.quota import OBJECT_BYTES, RESERVE, SMALL_GROWTH
from vacate.errors import KeyExists, StoreFull

pytestmark = pytest.mark.unit

KIB = 1024
LIMIT = 100 * KIB


def text(size: int) -> str:
    return "x" * size


async def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    store = await opened(MemoryLog())
    store.limit(LIMIT)
    await store.put(pod("a"), body(text=text(60 * KIB))).done()
    size, revision = store.size, store.tip_revision
    with pytest.raises(StoreFull, match=f"take {size} bytes of a quota of {LIMIT}"):
        store.put(pod("b"), body(text=text(50 * KIB)))
    with pytest.raises(StoreFull):
        store.put(pod("a"), body(text=text(110 * KIB)))
    assert (store.size, store.tip_revision, store.tip(pod("b"))) == (size, revision, None)
    await store.put(pod("b"), body(text=text(30 * KIB))).done()
    await store.aclose()


async def test_deleting_makes_room_at_once() -> None:
    """Writes on their way to the disk count too, or a burst would exceed the quota."""
    log = GatedLog()
    store = await opened(log)
    store.limit(LIMIT)
    log.gate.set_open(False)
    store.put(pod("a"), body(text=text(90 * KIB)))
    with pytest.raises(StoreFull):
        store.put(pod("b"), body(text=text(90 * KIB)))
    store.delete(pod("a"), body(text=text(90 * KIB)))
    assert store.size == 0
    write = store.put(pod("b"), body(text=text(90 * KIB)))
    log.gate.set_open(True)
    await write.done()
    await store.aclose()


async def test_small_updates_go_on_within_a_reserve() -> None:
    """A node's heartbeat and the marks of a deletion must not stop, and are bounded all the same."""
    store = await opened(MemoryLog())
    for name in ("a", "b"):
        await store.put(pod(name), body(text=text(LIMIT // 2))).done()
    store.limit(LIMIT)
    grown = LIMIT // 2
    with pytest.raises(StoreFull):
        store.put(pod("a"), body(text=text(grown + SMALL_GROWTH + 100)))
    with pytest.raises(StoreFull):
        store.put(pod("c"), body())
    while store.size + 500 <= LIMIT + LIMIT // RESERVE:
        grown += 500
        store.put(pod("a"), body(text=text(grown)))
    with pytest.raises(StoreFull):
        store.put(pod("a"), body(text=text(grown + 500)))
    assert LIMIT < store.size <= LIMIT + LIMIT // RESERVE
    await store.put(pod("b"), body(text=text(LIMIT // 2))).done()
    await store.put(pod("a"), body()).done()
    await store.put(pod("c"), body()).done()
    await store.aclose()


async def test_a_name_that_is_taken_is_reported_before_an_exceeded_quota() -> None:
    store = await opened(MemoryLog())
    await store.put(pod("a"), body(text=text(KIB))).done()
    store.limit(KIB)
    with pytest.raises(KeyExists):
        store.put(pod("a"), body(text=text(KIB)), expect=0)
    await store.aclose()


async def test_a_store_that_is_opened_again_counts_what_it_finds() -> None:
    log = MemoryLog()
    store = await opened(log)
    await store.put(pod("a"), body(text=text(5000))).done()
    await store.put(pod("a"), body(text=text(3000))).done()
    await store.put(pod("b"), body()).done()
    await store.delete(pod("b"), body()).done()
    size = store.size
    assert 3000 + OBJECT_BYTES < size < 3100 + OBJECT_BYTES
    await store.aclose()
    again = await opened(log)
    assert again.size == size
    await again.aclose()


async def test_one_line_is_logged_each_time_that_it_is_full(caplog: pytest.LogCaptureFixture) -> None:
    store = await opened(MemoryLog())
    store.limit(LIMIT)
    for _ in range(2):
        await store.put(pod("a"), body(text=text(90 * KIB))).done()
        for _ in range(3):
            with pytest.raises(StoreFull):
                store.put(pod("b"), body(text=text(90 * KIB)))
        await store.put(pod("a"), body()).done()
    assert caplog.text.count("the storage is full") == 2
    await store.aclose()
