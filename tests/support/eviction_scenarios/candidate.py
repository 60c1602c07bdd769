"""One of several managers that hold an election: it is started again whenever it has lost the lease."""

from __future__ import annotations

from vacate.client.transport import Transport
from vacate.runtime.leaderelection import LeadershipLost, LeaseTimings
from vacate.wiring.components import ComponentContext
from vacate.wiring.manager import ManagerParts, ManagerSettings

TIMINGS = LeaseTimings(duration=90.0, renew_deadline=60.0, retry=20.0)
"""Slower than usual, so that a scenario is not mostly about leases."""


class Candidate:
    """The manager of one process, with the same identity in all of its lives."""

    def __init__(self, transport: Transport, around: ComponentContext, identity: str) -> None:
        self._transport = transport
        self._around = around
        self._settings = ManagerSettings(gates=around.gates, identity=identity, timings=TIMINGS)

    async def run(self) -> None:
        """Lead or wait, as what starts programs anew makes them do."""
        while True:
            try:
                await ManagerParts(self._transport, self._around, self._settings).run()
            except LeadershipLost:
                await self._around.clock.sleep(1.0)

    async def wait_ready(self) -> None:
        """A candidate need not lead to be ready."""

    def stop(self) -> None:
        """Candidates are only ever crashed."""
