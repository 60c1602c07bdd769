"""An asyncio event loop on virtual time.

Time stands still while anything can run and jumps to the next timer when nothing can. There are no threads,
sockets or executors: whatever asks for one gets an error. Nothing to run and no timer is a deadlock, and the
error names the tasks that wait.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVarTuple

from vacate.entropy import Entropy
from vacate.errors import Deadlock, Livelock, NotSimulated, OutOfTime
from vacate.sim.tasks import describe

Ts = TypeVarTuple("Ts")

_TURNS_WITHOUT_TIME = 1_000_000
_SMALLEST_STEP = 1e-9


class SimLoop(asyncio.BaseEventLoop):
    """Runs callbacks in the order in which asyncio would, in no real time.

    `limit` bounds virtual time. `shuffle` mixes the ready callbacks of each turn, which gives schedules that
    asyncio never makes: an extra, not the default.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _stopping: bool

    def __init__(self, *, limit: float = math.inf, shuffle: Entropy | None = None) -> None:
        super().__init__()
        self._selector = self  # the base class waits by calling `self._selector.select`
        self._now = 0.0
        self._limit = limit
        self._shuffle = shuffle
        self._turns = 0
        self._clock_resolution = _SMALLEST_STEP
        # Strong references: a waiting task never vanishes with a garbage collection that comes by chance.
        self._tasks: dict[asyncio.Future[Any], None] = {}
        self._thread = threading.get_ident()
        self.unseen: list[str] = []  # what reached the exception handler
        self.refused: NotSimulated | None = None  # what ends the simulation at its next turn
        self.set_exception_handler(_remember)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._now

    @property
    def tasks(self) -> list[asyncio.Task[Any]]:
        """The tasks that are not done, oldest first."""
        return [task for task in self._tasks if isinstance(task, asyncio.Task)]

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """As asyncio does, and remembered in the order of creation."""
        task = super().create_task(coro, **options)
        self._tasks[task] = None
        task.add_done_callback(self._forget)
        return task

    def refuse(self, message: str) -> NoReturn:
        """Raise NotSimulated, and end the simulation with it even where the caller tries again instead."""
        self.refused = NotSimulated(message)
        raise self.refused

    def select(self, timeout: float | None) -> list[Any]:
        """Where a real loop would wait for sockets: jump to the next timer instead."""
        if self.refused is not None:
            refused, self.refused = self.refused, None  # the clean-up must still run
            raise refused
        if timeout is None:
            raise Deadlock(f"nothing can run and no timer is set; waiting:\n{describe(self.tasks)}")
        if timeout > 0:
            self._advance()
        else:
            self._count_turn()
            self._reach_due_timer()
        return []

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """The same as call_soon, refused to other threads."""
        if threading.get_ident() != self._thread:
            raise NotSimulated("another thread called into a simulated loop")
        return self.call_soon(callback, *args, context=context)

    def _advance(self) -> None:
        when = self._scheduled[0].when()
        if when > self._limit:
            raise OutOfTime(f"virtual time passed {self._limit:g} s; waiting:\n{describe(self.tasks)}")
        self._now = max(self._now, when)
        # A timer is due when its time is before now plus this; it must stay above the precision of a float.
        self._clock_resolution = max(_SMALLEST_STEP, 2 * math.ulp(self._now))
        self._turns = 0

    def _reach_due_timer(self) -> None:
        """Timers that are due within the resolution run now: then their time has come, for all who look.

        Else two tasks, each of which waits for the last moments again and again, would keep each other ready,
        and time would stand still.
        """
        if self._scheduled and self._scheduled[0].when() < self._now + self._clock_resolution:
            self._now = max(self._now, self._scheduled[0].when())

    def _count_turn(self) -> None:
        self._turns += 1
        if self._turns > _TURNS_WITHOUT_TIME:
            self._turns = 0  # the clean-up must still run
            raise Livelock(f"time stands still at {self._now:g} s; alive:\n{describe(self.tasks)}")
        if self._shuffle is not None and len(self._ready) > 1:
            self._mix(self._shuffle)

    def _mix(self, entropy: Entropy) -> None:
        drawn = sorted((entropy.uniform(0, 1), n) for n in range(len(self._ready)))
        handles = list(self._ready)
        self._ready.clear()
        self._ready.extend(handles[n] for _, n in drawn)

    def _forget(self, task: asyncio.Future[Any]) -> None:
        self._tasks.pop(task, None)

    def _process_events(self, event_list: Iterable[Any]) -> None:
        """Nothing to do: `select` never reports any."""

    def _write_to_self(self) -> None:
        """Nothing to do: the loop never waits."""


def _remember(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    assert isinstance(loop, SimLoop)
    if loop.is_closed():
        loop.default_exception_handler(context)
        return
    error = context.get("exception")
    loop.unseen.append(f"{context.get('message')}: {error!r}" if error else str(context.get("message")))


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(self: SimLoop, *args: Any, **kwargs: Any) -> NoReturn:
        self.refuse(f"{name} does not exist on a simulated loop: no threads, sockets or processes")

    refuse.__name__ = name
    return refuse


for _name in (
    "run_in_executor", "set_default_executor", "getaddrinfo", "getnameinfo",
    "create_connection", "create_server", "create_unix_connection", "create_unix_server",
    "create_datagram_endpoint", "connect_accepted_socket", "start_tls", "sendfile",
    "connect_read_pipe", "connect_write_pipe", "subprocess_shell", "subprocess_exec",
    "add_reader", "remove_reader", "add_writer", "remove_writer",
    "sock_recv", "sock_recv_into", "sock_recvfrom", "sock_recvfrom_into", "sock_sendall", "sock_sendto",
    "sock_connect", "sock_accept", "sock_sendfile", "add_signal_handler", "remove_signal_handler",
):  # fmt: skip
    setattr(SimLoop, _name, _refusal(_name))
