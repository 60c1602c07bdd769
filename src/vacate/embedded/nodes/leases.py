"""Renews the leases of simulated nodes: one small patch each, and no reading before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vacate.api.kinds import LEASES
from vacate.embedded.nodes.nodeobjects import LEASE_NAMESPACE
from vacate.embedded.nodes.registration import renewal
from vacate.embedded.nodes.simulatednode import Machine
from vacate.errors import ApiError, TransportError
from vacate.runtime.dependencies import Dependencies

_JITTER = 0.04  # as the kubelet has it


class Heartbeats:
    """A heart for each machine. One that fails is left to the node's reconciler, which tries again."""

    name = "heartbeats"

    def __init__(self, deps: Dependencies, interval: float, failed: Callable[[Machine], None]) -> None:
        self._client = deps.client
        self._clock = deps.clock
        self._entropy = deps.entropy
        self._interval = interval
        self._failed = failed
        self._machines: list[Machine] = []
        self._group: asyncio.TaskGroup | None = None

    def add(self, machine: Machine) -> None:
        """Beat for this machine, from now on or as soon as `run` runs."""
        self._machines.append(machine)
        if self._group is not None:
            self._group.create_task(self._beat(machine), name=f"heartbeat {machine.shape.name}")

    async def run(self) -> None:
        """Beat until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for machine in self._machines:
                group.create_task(self._beat(machine), name=f"heartbeat {machine.shape.name}")
            await asyncio.Event().wait()  # machines may come later

    async def _beat(self, machine: Machine) -> None:
        interval, jitter = self._interval, self._interval * _JITTER
        while True:
            await self._clock.sleep(interval + self._entropy.uniform(0, jitter))
            if machine.active and machine.leased:
                await self._renew(machine)

    async def _renew(self, machine: Machine) -> None:
        try:
            await self._client.patch(LEASES, machine.shape.name, renewal(self._clock.now()), LEASE_NAMESPACE)
        except (ApiError, TransportError):
            machine.leased = False
            self._failed(machine)
