"""A machine that shuts down, in virtual time: logind, pods and the agent's disk, with errors on demand.

Its logind behaves as the real one was seen to: a delay ends with the last lock or at the limit, a restart
forgets the shutdown without a word and keeps the locks, a new lock during a delay is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import msgspec

from vacate.clock import Clock
from vacate.nodeagent.runtime.protocol import Held
from vacate.nodeagent.shutdown.buckets import ShutdownPod, TerminatePod
from vacate.nodeagent.shutdown.protocol import Inhibitor, LogindUnavailable
from vacate.nodeagent.shutdown.record import FileStorage, ShutdownRecord

_EARLY = 1e-6  # by so much a loop may call before the time; nobody calls again


class SimLogind:
    """Logind and its bus."""

    def __init__(self, clock: Clock, limit: float = 5.0, *, raisable: bool = True) -> None:
        self.clock = clock
        self.limit = limit
        self.raisable = raisable
        self.is_preparing = False
        self.locks: set[int] = set()
        self.taken = 0
        self.raised: list[float] = []  # what was written into drop-ins
        self.restored = 0
        self.away = False  # the bus is down
        self.heard = asyncio.Event()  # not while the agent is stopped, as by SIGSTOP
        self.heard.set()
        self.refusals = 0  # of the next connections
        self.others: list[Inhibitor] = []  # locks of other programs, which only ListInhibitors shows
        self.off_at: float | None = None  # when the machine went down
        self.sessions: list[SimSession] = []
        self._delay: asyncio.Task[None] | None = None
        self._unlocked = asyncio.Event()

    async def connect(self) -> SimSession:
        await self.clock.sleep(0.001)
        if self.away or self.refusals > 0:
            self.refusals = max(self.refusals - 1, 0)
            raise LogindUnavailable("no system bus")
        session = SimSession(self)
        self.sessions.append(session)
        return session

    async def restore(self) -> None:
        self.restored += 1

    def power_off(self) -> None:
        self.is_preparing = True
        self._delay = asyncio.get_running_loop().create_task(self._wait(self.limit))
        self.signal()

    def signal(self) -> None:
        for session in self.sessions:
            session.happened.set()

    def cancel(self) -> None:
        """As a masked target does, or a restart of logind: the shutdown is off."""
        self._stop_waiting()
        self.is_preparing = False
        self.signal()

    def drop_bus(self) -> None:
        self.away = True
        for session in self.sessions:
            session.lost = True
        self.signal()

    def close(self, fd: int) -> None:
        self.locks.discard(fd)
        if not self.locks:
            self._unlocked.set()

    async def stop(self) -> None:
        self._stop_waiting()
        await asyncio.sleep(0)

    def _stop_waiting(self) -> None:
        if self._delay is not None:
            self._delay.cancel()

    async def _wait(self, limit: float) -> None:
        self._unlocked.clear()
        if self.locks:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await self._unlocked.wait()
        self.off_at = self.clock.monotonic()


class SimSession:
    """One connection."""

    def __init__(self, logind: SimLogind) -> None:
        self.logind = logind
        self.happened = asyncio.Event()
        self.heard = logind.heard
        self.lost = False

    async def preparing(self) -> bool:
        await self._answer()
        return self.logind.is_preparing

    async def delay_limit(self) -> float:
        await self._answer()
        return self.logind.limit

    async def raise_delay_limit(self, seconds: float) -> None:
        await self._answer()
        self.logind.raised.append(seconds)
        if self.logind.raisable:
            self.logind.limit = seconds

    async def inhibitors(self) -> list[Inhibitor]:
        await self._answer()
        return list(self.logind.others)

    async def inhibit(self, why: str) -> int:
        await self._answer()
        if self.logind.is_preparing:
            raise LogindUnavailable("Inhibit was refused: OperationInProgress")
        self.logind.taken += 1
        self.logind.locks.add(self.logind.taken)
        return self.logind.taken

    async def changed(self, timeout: float) -> float | None:
        try:
            async with asyncio.timeout(timeout):
                await self.happened.wait()
        except TimeoutError:
            pass
        stopped = None if self.heard.is_set() else self.logind.clock.monotonic()
        await self.heard.wait()
        self.happened.clear()
        if self.lost:
            raise LogindUnavailable("the connection to the system bus ended")
        return stopped

    async def aclose(self) -> None:
        if self in self.logind.sessions:
            self.logind.sessions.remove(self)

    async def _answer(self) -> None:
        await self.logind.clock.sleep(0.001)
        await self.logind.heard.wait()
        if self.lost:
            raise LogindUnavailable("the connection to the system bus ended")


class SimLockHolder:
    """The supervisor: it holds the lock while agents come and go."""

    def __init__(self, logind: SimLogind) -> None:
        self._logind = logind
        self.fd: int | None = None
        self.left_at: float | None = None
        self.listened_at: float | None = None

    async def hold(self, fd: int, orphan_seconds: float) -> None:
        await self._logind.clock.sleep(0.001)
        old, self.fd = self.fd, fd
        self.left_at = None
        if old is not None:
            self._logind.close(old)

    async def holds(self, *, listening: bool = False) -> Held | None:
        await self._logind.heard.wait()
        if listening:
            self.listened_at = self._logind.clock.monotonic()
        return Held(self.left_at) if self.fd is not None else None

    async def release(self) -> None:
        await self._logind.clock.sleep(0.001)
        if self.fd is not None:
            self._logind.close(self.fd)
        self.fd = None


@dataclass
class Ended:
    """What happened to a pod."""

    asked: float
    kill_at: float
    gone: float
    ordered: float = 0.0  # when its interceptors' time began; without them as `asked`


@dataclass
class SimPods:
    """Processes. Each takes its time to end and is killed when its allotted time is over."""

    clock: Clock
    pods: dict[str, ShutdownPod] = field(default_factory=dict)
    needs: dict[str, float] = field(default_factory=dict)  # seconds to end
    ended: dict[str, Ended] = field(default_factory=dict)
    stuck: set[str] = field(default_factory=set)  # those that outlive even SIGKILL
    orders: list[str] = field(default_factory=list)  # uids, as often as they were to end
    callback: Callable[[], None] = lambda: None

    def known(self) -> bool:
        return True

    def running(self) -> list[ShutdownPod]:
        return [one for one in self.pods.values() if not self._is_gone(one.uid)]

    def end(self, order: TerminatePod) -> None:
        now, uid = self.clock.monotonic(), order.pod.uid
        self.orders.append(uid)
        kill_at = now + order.seconds
        known = self.ended.get(uid)
        if known is None:
            asked = now + order.prepare
            gone = math.inf if uid in self.stuck else min(asked + self.needs[uid], kill_at)
            known = Ended(asked, kill_at, gone, now)
        else:
            kill_at = min(kill_at, known.kill_at)
            gone = known.gone if uid in self.stuck else min(known.gone, kill_at)
            known = replace(known, kill_at=kill_at, gone=gone)
        self.ended[uid] = known
        if known.gone < math.inf:
            asyncio.get_running_loop().call_later(max(known.gone - now, 0.0), self._call)

    def finish_by_force(self, uid: str) -> None:
        """As `kubectl delete --force`: someone else ends it, at once."""
        now = self.clock.monotonic()
        self.ended[uid] = replace(self.ended.get(uid, Ended(now, now, now, now)), gone=now)
        self._call()

    def cancel(self) -> None:
        now = self.clock.monotonic()
        self.ended = {uid: one for uid, one in self.ended.items() if one.asked <= now}

    def gone(self, uids: Iterable[str]) -> set[str]:
        return {one for one in uids if self._is_gone(one)}

    def on_change(self, callback: Callable[[], None]) -> None:
        self.callback = callback

    async def flush(self) -> None:
        return

    def _call(self) -> None:
        self.callback()  # of the agent that runs by then

    def _is_gone(self, uid: str) -> bool:
        known = self.ended.get(uid)
        return known is not None and known.gone <= self.clock.monotonic() + _EARLY


class SimStorage(FileStorage):
    """The disk: bytes, so that what is read is what a file would give."""

    def __init__(self) -> None:
        self.content = msgspec.json.encode(ShutdownRecord())
        self.broken = False
        self.saves = 0
        self.starts: set[dt.datetime | None] = set()  # of all shutdowns that were ever recorded
        self.on_save: Callable[[int], None] = lambda _: None

    def load(self) -> ShutdownRecord:
        return msgspec.json.decode(self.content, type=ShutdownRecord)

    def save(self, record: ShutdownRecord) -> None:
        if self.broken:
            raise OSError(28, "No space left on device")
        self.content = msgspec.json.encode(record)
        self.saves += 1
        self.starts.add(record.start)
        self.on_save(self.saves)
