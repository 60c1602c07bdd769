"""What the shutdown manager needs around it: logind, the node's pods, a holder of the lock, a disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from vacate.errors import VacateError
from vacate.nodeagent.runtime.protocol import Held
from vacate.nodeagent.shutdown.buckets import ShutdownPod, TerminatePod
from vacate.nodeagent.shutdown.config import ShutdownConfig


class LogindUnavailable(VacateError):
    """Logind cannot be reached or refuses; says why."""


class ShutdownRefused(VacateError):
    """Something else on this machine acts on the same signal; says what to change."""

    reason = "WouldRace"
    what = "refused"


class ShutdownOff(ShutdownRefused):
    """The configuration asks for nothing; says why."""

    reason = "Off"
    what = "off"


@dataclass(frozen=True, slots=True)
class Inhibitor:
    """A lock of logind as `ListInhibitors` shows it."""

    what: str
    who: str
    why: str
    mode: str
    uid: int = 0
    pid: int = 0


class LogindSession(Protocol):
    """One connection to logind. Each call is limited in time and raises LogindUnavailable."""

    async def preparing(self) -> bool:
        """Whether the machine is about to shut down."""
        ...

    async def delay_limit(self) -> float:
        """For how many seconds logind lets anyone delay a shutdown."""
        ...

    async def raise_delay_limit(self, seconds: float) -> None:
        """Configure a longer limit; it may be in effect a little later, or never."""
        ...

    async def inhibitors(self) -> list[Inhibitor]:
        """Every lock that is held, by anyone."""
        ...

    async def inhibit(self, why: str) -> int:
        """Take a delay lock: a file descriptor, which is the caller's to close."""
        ...

    async def changed(self, timeout: float) -> float | None:
        """Return when something has happened, or after so many seconds; read `preparing` again then.

        Where this process was stopped meanwhile: since when, on the machine's monotonic clock.
        """
        ...

    async def aclose(self) -> None:
        """Let go of the connection. Locks stay."""
        ...


class Logind(Protocol):
    """Connects to logind."""

    async def connect(self) -> LogindSession:
        """A new connection, or LogindUnavailable."""
        ...

    async def restore(self) -> None:
        """Take back what was configured for this node's delays. What fails is logged."""
        ...


Arrange = Callable[[LogindSession, bool], Awaitable[ShutdownConfig]]
"""Says what to do in the next shutdown, from what else holds a lock; the flag: it has begun already.

Raises ShutdownRefused where nothing may be done, LogindUnavailable where that is not known.
"""


class LockHolder(Protocol):
    """Holds the delay lock. The agent may restart meanwhile."""

    async def hold(self, fd: int, orphan_seconds: float) -> None:
        """Take the descriptor over in place of one that is held, also where this fails.

        It is closed when no agent was there for so many seconds.
        """
        ...

    async def holds(self, *, listening: bool = False) -> Held | None:
        """The lock, if one is held; a `listening` agent, which says so each second, hears logind just now."""
        ...

    async def release(self) -> None:
        """Close the descriptor, if one is held."""
        ...


class NodePods(Protocol):
    """The pods of this node."""

    def known(self) -> bool:
        """Whether it is known what the pods that run need when they end: hooks and interceptors."""
        ...

    def running(self) -> list[ShutdownPod]:
        """Those that have not ended."""
        ...

    def end(self, order: TerminatePod) -> None:
        """Begin to terminate a pod. Where that is under way, a shorter time overtakes."""
        ...

    def cancel(self) -> None:
        """No shutdown is under way: leave alone every pod that was not asked to end yet.

        Requests of evictions are withdrawn, also those of an earlier agent.
        """
        ...

    def gone(self, uids: Iterable[str]) -> set[str]:
        """Which of these pods have no process left."""
        ...

    def on_change(self, callback: Callable[[], None]) -> None:
        """Have the callback called whenever a pod may be gone."""
        ...

    async def flush(self) -> None:
        """Return when the API knows how the terminated pods ended. That can take long: limit it."""
        ...
