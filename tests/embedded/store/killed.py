"""A process under write load that is killed: it prints confirmed writes and what its watcher saw."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from embedded.store.harness import opened, pod
from vacate.embedded.store.sqlite import SqliteLog
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Scope

WRITERS = 8


def say(what: str, revision: int, name: str = "") -> None:
    # One small write to a pipe is whole or not there, however the process ends.
    os.write(1, f"{what} {revision} {name}\n".encode())


async def write(store: Store, number: int) -> None:
    turn = 0
    while True:
        name = f"{number}-{turn % 5}"
        entry = await store.put(pod(name), lambda revision: f"{revision}||{'x' * 500}".encode()).done()
        say("acknowledged", entry.revision, name)
        turn += 1


async def follow(store: Store) -> None:
    async for batch in store.watch(Scope("pods"), store.revision, capacity=10_000):
        for change in batch:
            say("seen", change.revision, change.key.name)


async def compact(store: Store) -> None:
    while True:
        await store.wait_for(store.compacted + 60)
        await store.compact(store.revision - 20)


async def main(path: Path) -> None:
    store = await opened(SqliteLog(path))
    say("opened", store.revision)
    writers = [write(store, number) for number in range(WRITERS)]
    await asyncio.gather(follow(store), compact(store), *writers)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
