"""One at a time: an installation or removal holds a Lease in Vacate's namespace meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

from vacate.api.installednames import INSTALL_LEASE
from vacate.api.kinds import LEASES
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import ConfigError, NotFound
from vacate.install.apply.preflight import stays
from vacate.metrics import Metrics
from vacate.runtime.leaderelection import LeaderElector, LeadershipLost, LeaseTimings

LOCK_TIMEOUT_SECONDS = 120.0
_SILENT = 2.0
_TIMINGS = LeaseTimings(8.0, 5.0, 1.0)  # one that was killed keeps the next one waiting for eight seconds


class InstallLease:
    """The right to change the installation, as long as it lasts."""

    def __init__(self, elector: LeaderElector) -> None:
        self._elector = elector
        self._holding = asyncio.create_task(elector.hold())

    async def check(self) -> None:
        """ConfigError where another one may have begun: nothing more is written on old knowledge.

        After a time without contact, as with a busy server, the lease shows whether another had it.
        """
        if self._elector.leading:
            return
        await self.end()
        if not await self._regained():
            raise ConfigError(
                "the connection to the cluster was lost for too long; run the same command again to continue"
            )
        self._holding = asyncio.create_task(self._elector.hold())

    async def end(self) -> None:
        """Hold the lease no longer: what is still held is given back."""
        self._holding.cancel()
        with contextlib.suppress(asyncio.CancelledError, LeadershipLost):
            await self._holding

    async def _regained(self) -> bool:
        try:
            async with asyncio.timeout(LOCK_TIMEOUT_SECONDS):
                return await self._elector.regain()
        except TimeoutError:
            return False


@contextlib.asynccontextmanager
async def alone(
    client: Client, clock: Clock, entropy: Entropy, namespace: str, report: Callable[[str], None]
) -> AsyncIterator[InstallLease]:
    """Wait for the turn, and have it for the length of the block."""
    elector = LeaderElector(
        client, clock, entropy, Metrics(),
        name=INSTALL_LEASE, namespace=namespace,
        identity=f"{socket.gethostname()}_{entropy.uid()}", timings=_TIMINGS,
    )  # fmt: skip
    await _acquire(elector, clock, report, lambda: stays(client, namespace))
    turn = InstallLease(elector)
    try:
        yield turn
    finally:
        await turn.end()


async def unchecked() -> None:
    """In place of the check of a turn, where there is nobody to take turns with."""


async def forget_lock(client: Client, namespace: str) -> None:
    """Remove the Lease, after everything else."""
    with contextlib.suppress(NotFound):
        await client.delete(LEASES, INSTALL_LEASE, namespace)


async def _acquire(
    elector: LeaderElector, clock: Clock, report: Callable[[str], None], there: Callable[[], Awaitable[bool]]
) -> None:
    """Wait for the turn; but not where there will be none, since the namespace goes."""

    async def look() -> None:
        await clock.sleep(_SILENT)
        report(f"waiting: {_holder(elector)}")
        while await there():
            await clock.sleep(_SILENT)

    waiting, looking = asyncio.create_task(elector.acquire()), asyncio.create_task(look())
    both = [waiting, looking]
    try:
        done, _ = await asyncio.wait(both, timeout=LOCK_TIMEOUT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise ConfigError(f"{_holder(elector)}, after {LOCK_TIMEOUT_SECONDS:.0f} s")
        for task in done:
            task.result()
        if looking in done or not await there():
            raise ConfigError("the namespace was deleted meanwhile; run the same command again to create it")
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)


def _holder(elector: LeaderElector) -> str:
    if elector.leader:
        return f"{elector.leader} is installing or uninstalling"
    return f"the lease {INSTALL_LEASE} cannot be taken"
