"""The shutdown manager: holds the delay lock, and when the machine goes down terminates the pods in order.

It goes on with a shutdown that an earlier agent began, and stops at once when the shutdown is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from vacate.api.durations import format_duration
from vacate.clock import Clock
from vacate.errors import VacateError
from vacate.nodeagent.shutdown.buckets import Shutdown, TerminatePod, advance, fit, group_pods, resume, spread
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.lock import spare, take_lock, usable
from vacate.nodeagent.shutdown.protocol import (
    Arrange,
    LockHolder,
    Logind,
    LogindSession,
    NodePods,
    ShutdownOff,
    ShutdownRefused,
)
from vacate.nodeagent.shutdown.record import CANCELLED, FINISHED, FileStorage, ShutdownRecord
from vacate.nodeagent.shutdown.state import ManagerState

log = logging.getLogger(__name__)

FIRST_RETRY, MAX_RETRY = 1.0, 30.0
RECHECK_AFTER = 30.0
"""How often logind is asked although it signals nothing: a connection can be dead without being closed."""
MIN_SHARE = 0.1
"""What pods have at least of the time that logind grants, where an agent was away for nearly all of it."""
RELEASE_RETRY, RESTART_SECONDS = 0.5, 5.0
LISTENING_SECONDS = 1.0
"""How often the holder of the lock is told that this agent hears logind: one that is stopped cannot tell."""
KNOWN_SECONDS = 10.0
"""How long an agent that starts waits for the API server where no record says what its pods need."""
CONFIRM_SECONDS, RECOVERY_RETRIES = 2.0, 3
"""How long logind may take to say whether a shutdown goes on; how often an agent that starts asks again."""


@dataclass(eq=False)
class ShutdownManager:
    """One node. `changed` is called when `state` or `record` has changed."""

    name = "shutdown"

    config: ShutdownConfig
    logind: Logind
    pods: NodePods
    holder: LockHolder
    storage: FileStorage
    clock: Clock
    boot: str
    changed: Callable[[ManagerState], None] = lambda _: None
    arrange: Arrange | None = None
    state: ManagerState = field(default_factory=ManagerState)
    record: ShutdownRecord = field(default_factory=ShutdownRecord)
    _stale: bool = True  # the lock is of another agent, or of a shutdown that was cancelled
    _tidied: bool = False  # nothing is left of a shutdown that an earlier agent saw cancelled
    _shortfall: str = ""  # why pods have less time than configured
    _unwatched_since: float | None = None  # nobody knows whether a shutdown has begun since then
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    # so that an old lock's release never meets the new lock
    _keeping: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        # What logind allows, and what it was asked for.
        self._granted = self._wanted = self.config.total_seconds

    async def run(self) -> None:
        """Run until cancelled. A lock stays held only in the middle of a shutdown."""
        while True:
            try:
                await self._run()
            except Exception:  # pods run on all the same, and the next shutdown must find an agent
                log.exception("graceful node shutdown failed and starts anew")
            await self.clock.sleep(RESTART_SECONDS)

    async def _run(self) -> None:
        self.pods.on_change(self._wake.set)
        await self._wait_known()
        await self._recover()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watch(), name="watch logind")
                group.create_task(self._drive(), name="drive shutdown")
                group.create_task(self._keep_telling(), name="tell the holder of the lock")
        finally:
            if not self._is_terminating:
                await asyncio.shield(self._release(stopping=True))

    async def _wait_known(self) -> None:
        """A pod whose hooks nobody knows yet must not be terminated without them."""
        end = self.clock.monotonic() + KNOWN_SECONDS
        while not self.pods.known() and self.clock.monotonic() < end:
            self._wake.clear()
            await self._woken(end)
        if not self.pods.known():
            log.warning("the API server does not show all pods that run: their hooks may be left out")

    @property
    def _is_terminating(self) -> bool:
        return self.state.active and not self.state.finished

    async def _recover(self) -> None:
        self.record = self.storage.load()
        shutdown = self.record.shutdown
        if shutdown is None or not self.record.under_way(self.boot):
            return
        log.warning("going on with the shutdown that began at %s", self.record.start)
        self._show(replace(self.state, active=True))
        if await self._goes_on(RECOVERY_RETRIES):
            # Those that are gone, too: they must not be started again.
            self._give(resume(shutdown, self.clock.monotonic(), ()))

    async def _goes_on(self, retries: int = 0) -> bool:
        """Whether the shutdown of the record does; it may have been cancelled unseen, and is closed then.

        A process that was away or stopped has timers that are due before it has heard anything.
        """
        preparing = await self.is_preparing()
        for _ in range(retries):
            if preparing is not None:
                break
            await self.clock.sleep(FIRST_RETRY)
            preparing = await self.is_preparing()
        if preparing is False and self.state.active:
            self._cancel()
        return self.state.active

    async def is_preparing(self) -> bool | None:
        """Whether the machine is about to shut down; None where logind does not say."""
        try:
            async with asyncio.timeout(CONFIRM_SECONDS):
                session = await self.logind.connect()
                try:
                    return await session.preparing()
                finally:
                    await session.aclose()
        except (VacateError, OSError):  # a time-out is one of the latter
            return None

    # --- logind ---------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        pause = FIRST_RETRY
        while True:
            try:
                session = await self.logind.connect()
                try:
                    await self._attend(session)
                finally:
                    pause = FIRST_RETRY
                    if self._unwatched_since is None:
                        self._unwatched_since = self.clock.monotonic()
                    await session.aclose()
            except ShutdownRefused as error:
                self._report(f"graceful node shutdown is {error.what}: {error}", refused=error.reason)
                await self._release(stopping=True)
                if isinstance(error, ShutdownOff):
                    await self.logind.restore()
                pause = MAX_RETRY
            except (VacateError, OSError) as error:
                self._report(f"graceful node shutdown is unavailable: {error}", connected=False)
            await self.clock.sleep(pause)
            pause = FIRST_RETRY if self.state.active else min(2 * pause, MAX_RETRY)

    async def _attend(self, session: LogindSession) -> None:
        held = await self.holder.holds()
        self._show(replace(self.state, locked=held is not None))
        if held is not None and self._unwatched_since is None:
            self._unwatched_since = held.left_at
        if held is not None and not self._stale:
            self._report(self._shortfall)  # what was in the way meanwhile is over
        while True:
            preparing = await session.preparing()
            if self.arrange is not None and not self.state.active:
                self.config = await self.arrange(session, preparing)
            granted, before = usable(await session.delay_limit()), (self._granted, self._wanted)
            self._granted = granted
            self._see(preparing=preparing)
            self._unwatched_since = None
            changed = before != (granted, self.config.total_seconds)
            if not preparing and (self._stale or not self.state.locked or changed):
                await self._take(session)
                continue  # it may have begun meanwhile
            self._unwatched_since = await session.changed(RECHECK_AFTER)

    async def _keep_telling(self) -> None:
        while True:
            await self.clock.sleep(LISTENING_SECONDS)
            if self.state.locked and not self.state.active and self._unwatched_since is None:
                await self._tell()

    async def _tell(self) -> None:
        """So that an agent after this one knows since when nobody listened, also if this one was stopped."""
        with contextlib.suppress(VacateError, OSError):
            await self.holder.holds(listening=True)

    async def _take(self, session: LogindSession) -> None:
        async with self._keeping:
            wanted = self.config.total_seconds
            grant = await take_lock(session, self.holder, self.clock, wanted)
            self._stale, self._shortfall = False, grant.missing
            self._granted, self._wanted = grant.seconds, wanted
            self._show(replace(self.state, locked=True))
        await self._tell()
        self._report(grant.missing)

    def _report(self, problem: str, *, refused: str = "", connected: bool = True) -> None:
        if problem and problem != self.state.problem:
            log.warning("%s", problem)
        self._show(replace(self.state, problem=problem, refused=refused, connected=connected))

    def _see(self, *, preparing: bool) -> None:
        if preparing and not self.state.active:
            if self._granted <= 0:
                return  # to kill all pods at once is worse than what systemd does with them
            self._begin()
        elif not preparing and self.state.active:
            self._cancel()
        elif not preparing and not self._tidied:
            self._tidied = True
            self.pods.cancel()  # an earlier agent may not have come to it
            if self.record.outcome == FINISHED:  # and came to nothing, or the boot goes on after it
                self._save(msgspec.structs.replace(self.record, outcome=CANCELLED))

    # --- the course of a shutdown ---------------------------------------------------------------------------

    def _begin(self) -> None:
        now = self.clock.monotonic()
        record = self.record
        if record.outcome == FINISHED and record.boot == self.boot:
            # An agent that restarts after it was done: the machine is on its way down. The one before may
            # have been killed before it released the lock.
            log.warning("every bucket had its turn before this agent started")
            self._show(replace(self.state, active=True, finished=True))
            return
        unwatched = now - (now if self._unwatched_since is None else self._unwatched_since)

        def left_of(seconds: float) -> float:
            return max(seconds - unwatched, MIN_SHARE * seconds)

        groups = group_pods(fit(self.config.buckets, left_of(self._granted)), self.pods.running())
        if over := self.config.spread_over:  # of which time has passed, too
            groups = spread(groups, left_of(min(over, self._granted)))
        shutdown = Shutdown(groups, now, unwatched=unwatched)
        log.warning(
            "the machine goes down: %d pods have %s to terminate%s%s",
            len(shutdown.pods),
            format_duration(sum(one.bucket.seconds for one in groups)),
            f"; logind may wait since {format_duration(unwatched)}" if unwatched >= 1.0 else "",
            "" if self.state.locked else "; no lock is held, so it may be sooner",
        )
        self._save(ShutdownRecord(self.clock.now(), None, self.boot, shutdown))
        self._show(replace(self.state, active=True, finished=False))
        self._wake.set()

    def _cancel(self) -> None:
        log.warning("the shutdown was cancelled: no further pod is terminated")
        self._tidied = True
        self.pods.cancel()
        if self.record.shutdown is not None:
            self._save(self.record.closed(CANCELLED, self.clock.now()))
        else:
            self._save(msgspec.structs.replace(self.record, outcome=CANCELLED))
        self._stale = True
        self._show(replace(self.state, active=False, finished=False))

    async def _drive(self) -> None:
        while True:
            self._wake.clear()
            await self._woken(await self._step())

    async def _woken(self, end: float | None) -> None:
        """Return when something has changed, or at that time at the latest."""
        left = None if end is None else max(end - self.clock.monotonic(), 0.0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._wake.wait()

    async def _step(self) -> float | None:
        """Go on as far as possible; until when to wait for more."""
        if self.state.finished and self.state.locked:
            await self._let_go()
        shutdown = self.record.shutdown
        if not self._is_terminating or shutdown is None:
            return None
        gone = self.pods.gone(one.uid for one in shutdown.pods)
        after, orders = advance(shutdown, self.clock.monotonic(), gone)
        if orders and shutdown.index >= 0:  # the first bucket follows what logind has just said
            if not await self._goes_on():
                return None
            after, orders = advance(shutdown, self.clock.monotonic(), gone)
        if after != shutdown or gone != set(self.record.gone):
            self._save(msgspec.structs.replace(self.record, shutdown=after, gone=tuple(sorted(gone))))
        self._give(orders)
        if not after.over:
            return after.deadline
        await self._finish(after)
        return None

    async def _finish(self, shutdown: Shutdown) -> None:
        """Wait until the API server knows how all pods have ended, or the configured time is over."""
        total = sum(one.bucket.seconds for one in shutdown.groups)
        beyond = spare(self._granted - shutdown.unwatched, total)
        left = shutdown.started + total + beyond - self.clock.monotonic()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                await self.pods.flush()
        except TimeoutError:
            log.warning("the API server does not know yet how all pods terminated: it is written when it can")
        if not self._is_terminating:
            return  # cancelled meanwhile
        self._save(self.record.closed(FINISHED, self.clock.now()))
        self._show(replace(self.state, finished=True))
        await self._let_go()

    async def _let_go(self) -> None:
        log.warning("every bucket had its turn: releasing the shutdown inhibitor")
        while self.state.finished and not await self._release():
            await self.clock.sleep(RELEASE_RETRY)

    async def _release(self, *, stopping: bool = False) -> bool:
        async with self._keeping:
            if not (self.state.finished or stopping):
                return True  # cancelled meanwhile: what is held is the lock for the next shutdown
            try:
                await self.holder.release()
            except (VacateError, OSError) as error:
                log.warning("the shutdown inhibitor cannot be released: %s", error)
                return False
            self._show(replace(self.state, locked=False))
            return True

    def _give(self, orders: list[TerminatePod]) -> None:
        for order in orders:
            log.info(
                "shutting down pod %s of priority %d in bucket %d: %s allotted",
                order.pod.key, order.pod.priority, order.bucket, format_duration(order.seconds),
            )  # fmt: skip
            try:
                self.pods.end(order)
            except Exception:
                log.exception("pod %s cannot be terminated; the others can", order.pod.key)

    def _save(self, record: ShutdownRecord) -> None:
        self.record = record
        try:
            self.storage.save(record)
        except OSError as error:
            log.warning("the record of the shutdown is not on disk, a restart would forget it: %s", error)

    def _show(self, state: ManagerState) -> None:
        if state != self.state:
            self.state = state
            self.changed(state)
            self._wake.set()
