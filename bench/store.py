"""What the store costs: writes per second, microseconds of Python per write, replay, memory, listings.

Run with `python -m bench.store [--objects N] [--dir DIR]`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from vacate.embedded.store.log import Log
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.sqlite import SqliteLog
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Attributes, Key, Scope

BODY = b"x" * 600
WRITERS = 16
NO_ATTRIBUTES = Attributes({}, {})


def no_projection(key: Key, value: bytes) -> Attributes:
    """The store alone is measured: reading attributes is the API server's cost."""
    return NO_ATTRIBUTES


def body(revision: int) -> bytes:
    return BODY


async def opened(log: Log) -> Store:
    store = Store(log, no_projection)
    await store.open()
    return store


async def write(store: Store, name: str, count: int) -> None:
    for number in range(count):
        await store.put(Key("pods", "default", f"{name}-{number}"), body, expect=0).done()


def report(what: str, count: int, seconds: float, cpu: float | None = None) -> None:
    used = f", {cpu / count * 1e6:5.1f} us of CPU each" if cpu is not None else ""
    print(f"{what:48} {count / seconds:10,.0f}/s{used}")


async def writes(what: str, log: Log, writers: int, each: int, watchers: int = 0) -> None:
    store = await opened(log)
    watches = [store.watch(Scope("pods"), store.revision, capacity=10**9) for _ in range(watchers)]
    start, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(write(store, f"w{number}", each) for number in range(writers)))
    cpu, seconds = time.process_time() - cpu, time.perf_counter() - start
    report(what, writers * each, seconds, cpu)
    for watch in watches:
        watch.close()
    await store.aclose()


async def queued(what: str, log: Log, count: int) -> None:
    """Writes not waited for one by one: what put, commit and publish cost without task switches."""
    store = await opened(log)
    start, cpu = time.perf_counter(), time.process_time()
    for number in range(count):
        last = store.put(Key("pods", "default", f"p-{number}"), body)
    await last.done()
    report(what, count, time.perf_counter() - start, time.process_time() - cpu)
    await store.aclose()


async def replay(folder: Path, objects: int) -> None:
    path = folder / "replay.db"
    store = await opened(SqliteLog(path))
    for number in range(objects):
        last = store.put(Key("pods", f"ns-{number % 100}", f"p-{number:08}"), lambda revision: bytes(600))
    await last.done()
    await store.aclose()
    del store, last
    size = path.stat().st_size / objects
    gc.collect()
    start, cpu = time.perf_counter(), time.process_time()
    store = await opened(SqliteLog(path))
    report(f"replay of {objects:,} objects", objects, time.perf_counter() - start, time.process_time() - cpu)
    listings(store, objects)
    print(f"{'bytes on disk per object of 600 bytes':48} {size:10,.0f}")
    await store.aclose()


def timed(what: str, times: int, function: Callable[[], object]) -> None:
    start = time.perf_counter()
    for _ in range(times):
        function()
    print(f"{what:48} {(time.perf_counter() - start) / times * 1e6:10,.1f} us")


def listings(store: Store, objects: int) -> None:
    key = Key("pods", "ns-7", "p-00000007")
    timed("get", 10_000, lambda: store.get(key))
    timed(f"list of {objects:,}", 5, lambda: store.list("pods"))
    timed("list of one namespace in a hundred", 50, lambda: store.list("pods", "ns-7"))
    timed("page of 500", 200, lambda: store.list("pods", after=("ns-50", ""), limit=500))
    timed("page of 500 at a revision 100 changes ago", 200, lambda: past_page(store))


def past_page(store: Store) -> object:
    return store.list("pods", at=store.revision - 100, after=("ns-50", ""), limit=500)


async def memory(objects: int) -> None:
    """What Python holds for each object beside its bytes; history is compacted away."""
    store = await opened(MemoryLog())
    gc.collect()
    tracemalloc.start()
    for number in range(objects):
        last = store.put(Key("pods", "default", f"p-{number:08}"), lambda revision: bytes(600))
    await last.done()
    await store.compact(store.revision)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] / objects
    tracemalloc.stop()
    print(f"{'bytes of memory per object of 600 bytes':48} {used:10,.0f}")
    await store.aclose()


async def run(folder: Path, objects: int) -> None:
    await queued("memory, queued", MemoryLog(), 20_000)
    await writes("memory, alone", MemoryLog(), 1, 10_000)
    await writes("memory, 16 writers", MemoryLog(), WRITERS, 1_000)
    await writes("memory, 16 writers, 100 watchers", MemoryLog(), WRITERS, 100, watchers=100)
    await queued("sqlite, queued", SqliteLog(folder / "queued.db"), 20_000)
    await writes("sqlite, alone", SqliteLog(folder / "one.db"), 1, 300)
    await writes("sqlite, 16 writers", SqliteLog(folder / "many.db"), WRITERS, 100)
    await replay(folder, objects)
    await memory(min(objects, 20_000))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=50_000)
    parser.add_argument("--dir", type=Path, help="where the files go; the disk there is what is measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        asyncio.run(run(Path(folder), options.objects))


if __name__ == "__main__":
    main()
