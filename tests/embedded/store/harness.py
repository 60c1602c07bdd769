"""What the tests of the store share: values with a node in them, a clock by hand, a log with a gate."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence
from heapq import heappop, heappush
from pathlib import Path

from vacate.embedded.store.log import Log, Record
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.sqlite import SqliteLog
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Attributes, Change, Encode, Key
from vacate.embedded.store.watch import Watch

FAST_DISK = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
"""Where files go that many examples write to; None for the usual temporary folder."""


def body(node: str = "", text: str = "") -> Encode:
    """Values that carry their revision, a node, and a text."""
    return lambda revision: f"{revision}|{node}|{text}".encode()


def project(key: Key, value: bytes) -> Attributes:
    revision, node, text = value.decode().split("|")
    return Attributes({"text": text, "revision": revision}, {"spec.nodeName": node})


def pod(name: str, namespace: str = "default") -> Key:
    return Key("pods", namespace, name)


async def opened(log: Log) -> Store:
    store = Store(log, project)
    await store.open()
    return store


async def breathe(turns: int = 20) -> None:
    """Let everything run that can run without waiting."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def available(watch: Watch) -> list[Change]:
    """What can be taken from a watch without waiting; raises how it ended when nothing comes before that."""
    taken: list[Change] = []
    while True:
        attempt = asyncio.ensure_future(anext(watch))
        await breathe(3)
        if not attempt.done():
            attempt.cancel()
            await asyncio.wait([attempt])
            return taken
        if taken and attempt.exception():
            return taken
        taken += attempt.result()


class Gate:
    """Lets appends wait until they are let through, one by one."""

    def __init__(self) -> None:
        self._is_open = True
        self._waiting: list[asyncio.Future[None]] = []

    async def turn(self) -> None:
        if not self._is_open:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn

    def let_through(self) -> None:
        """The append that waits, if one does."""
        if self._waiting:
            self._waiting.pop(0).set_result(None)

    def set_open(self, is_open: bool) -> None:
        self._is_open = is_open
        while is_open and self._waiting:
            self.let_through()


class GatedLog(MemoryLog):
    """A log in memory with a gate, which counts the records of each append."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.batches: list[int] = []

    async def append(self, records: Sequence[Record]) -> None:
        await self.gate.turn()
        await super().append(records)
        self.batches.append(len(records))

    async def quiet(self) -> None:
        """Nothing goes on behind the back of the loop."""


class GatedFile(SqliteLog):
    """A log in a file with a gate, which can wait for its thread: then everything that could happen has."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gate = Gate()
        self._running = 0
        self._idle = asyncio.Event()

    async def append(self, records: Sequence[Record]) -> None:
        await self.gate.turn()
        self._running += 1
        self._idle.clear()
        try:
            await super().append(records)
        finally:
            self._running -= 1
            self._idle.set()

    async def quiet(self) -> None:
        await breathe()
        while self._running:
            await self._idle.wait()
            await breathe()


class HandClock:
    """Time moves only by `advance`."""

    def __init__(self) -> None:
        self._now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=self._now)

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        self._count += 1
        heappush(self._sleepers, (self._now + seconds, self._count, sleeper))
        await sleeper

    async def sleep_until(self, moment: dt.datetime) -> None:
        await self.sleep((moment - self.now()).total_seconds())

    async def advance(self, seconds: float) -> None:
        end = self._now + seconds
        await breathe()
        while self._sleepers and self._sleepers[0][0] <= end:
            self._now, _, sleeper = heappop(self._sleepers)
            if not sleeper.done():
                sleeper.set_result(None)
            await breathe()
        self._now = end
