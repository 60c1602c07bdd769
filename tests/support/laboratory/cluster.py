"""The cluster of the laboratory: API server, controllers, machines, and the invariants of all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from support.laboratory.hosts import Hosts
from support.laboratory.outcome import Outcome
from support.laboratory.workload import MAX_FENCED, MIN_HEALTHY, STORAGE, uses_storage
from vacate.api.kinds import NODES, PODS
from vacate.embedded.store.log import Record
from vacate.errors import OutOfTime
from vacate.nodeagent.recovery import POD
from vacate.sim.auditlog import Audit
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.history import BudgetHistory
from vacate.sim.invariants.durability import AcknowledgedWrites
from vacate.sim.invariants.evictions import concerns_evictions
from vacate.sim.invariants.fences import FenceLimits, Fences
from vacate.sim.invariants.liveprocesses import LiveProcesses
from vacate.sim.invariants.names import Invariant
from vacate.sim.invariants.partitions import ShownPartitions
from vacate.sim.run import Sim


class LaboratoryCluster:
    """A world with machines around it, and what must hold of both."""

    def __init__(self, sim: Sim, settings: WorldSettings, folder: Path, outcome: Outcome) -> None:
        self.sim = sim
        self.outcome = outcome
        self.world = World(sim, settings)
        self.hosts = Hosts(self.world, folder, outcome, self.spawn)
        limits = FenceLimits(MAX_FENCED, MIN_HEALTHY)
        self.fences = Fences(limits, sim.loop.time, self.hosts.running, outcome.breach, self.hosts.runs)
        self.processes = LiveProcesses(
            list(self.hosts.machines.values()), outcome.breach, self.hosts.is_shut_out
        )
        self.partitions = ShownPartitions(
            lambda: self.world.objects(PODS),
            lambda: self.world.objects(NODES),
            sim.loop.time,
            self._has_a_manager,
            outcome.breach,
        )
        self._budgets = BudgetHistory()
        self.audit = Audit(sim.loop.time, concerns_evictions)
        self.acknowledged = AcknowledgedWrites(self.audit)
        self.world.network.audit = self.acknowledged
        self.world.server.written = self._written
        self.hosts.switched_off = self.fences.switched_off
        self.hosts.given_back = self._given_back
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._server_turn = asyncio.Lock()
        self.volume_turn = asyncio.Lock()  # of faults that need or change what the record says
        self.unreported: dict[str, None] = {}  # pods whose status nobody can write
        self.lagging: dict[str, None] = {}  # managers whose next watch of volumes lags
        self.deaf: dict[tuple[str, str], None] = {}  # managers, and watches of theirs that have fallen silent
        self.listeners: list[Callable[[], None]] = []  # called when a process has started or ended
        for machine in self.hosts.machines.values():
            machine.changed = self._changed

    async def open(self) -> None:
        """Start agents and managers, in the world that was entered."""
        await self.hosts.open()

    async def close(self) -> None:
        """End what runs beside the world."""
        await self._end_tasks()
        await self.hosts.close()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside everything else."""
        task = asyncio.get_running_loop().create_task(work, name="laboratory")
        self._tasks[task] = None
        task.add_done_callback(self._done)

    async def until(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        """Return when it holds; OutOfTime where it does not in time. Looked at every second."""
        end = self.sim.loop.time() + timeout
        while not condition():
            if self.sim.loop.time() > end:
                raise OutOfTime(f"{what} did not come true in {timeout:g} s of virtual time")
            await self.sim.clock.sleep(1.0)
            self.check()

    async def keep_server_running(self) -> None:
        """As a supervisor does: a server whose store has failed is started anew."""
        while True:
            await self.sim.clock.sleep(20.0)
            if self.world.server.up and self.world.server.store.failure:
                self.outcome.note("the API server is started anew: its store has failed")
                self.outcome.counts["store failed"] += 1
                await self.restart_server(1.0)

    async def restart_server(self, down: float) -> None:
        """Crash the server, and start it again."""
        async with self._server_turn:
            self.outcome.note(f"the API server crashes, for {down:.1f} s")
            await self.world.restart_server(down)
        lost = self.acknowledged.lost(self.world.server.log.records)
        self.outcome.breach_all(Invariant.DURABLE, lost)

    async def mend(self) -> None:
        """Undo all that is wrong at once, whatever is under way."""
        await self._end_tasks()
        self.world.server.condition.__init__()  # type: ignore[misc]
        async with self._server_turn:
            if not self.world.server.up:
                await self.world.server.start()
        self.hosts.mend()
        self.unreported.clear()
        self.lagging.clear()
        for process in (self.world.controllers, self.world.scheduler, *self.hosts.processes):
            self.world.network.mend(process.name)
            self.world.network.slow_down(process.name, 0.0)
            self.spawn(self.hosts.begin(process))

    def separate(self, node: str, seconds: float) -> None:
        """The node does not reach the storage for so long, beside everything else."""

        async def mended() -> None:
            self.hosts.network.cut(node, STORAGE)
            await self.sim.clock.sleep(seconds)
            self.hosts.network.mend(node, STORAGE)

        if seconds:
            self.outcome.note(f"{node} does not reach its storage for {seconds:.0f} s")
            self.spawn(mended())

    def volume_users(self) -> dict[str, str]:
        """The names of the pods that use the exclusive volume now, each with its node."""
        living = [(run, name) for name, one in self.hosts.machines.items() for run in one.living]
        return {run.labels[POD]: name for run, name in living if uses_storage(run.labels)}

    def check(self) -> None:
        """Raise what ended a process by itself."""
        self.outcome.check()
        self.world.check()

    async def _end_tasks(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _written(self, record: Record) -> None:
        self.processes.written(record)
        self.fences.written(record)
        self.outcome.breach_all(Invariant.BUDGETS, self._budgets.apply(record))
        self.partitions.look()

    def _has_a_manager(self) -> bool:
        """Whether one runs that reaches the API server and hears of nodes and pods, and which can store."""
        condition = self.world.server.condition
        stores = self.world.server.up and not (condition.unreachable or condition.full or condition.seconds)
        deaf = {name for name, _ in self.deaf}
        able = [one for name, one in self.hosts.managers.items() if one.is_ready and name not in deaf]
        return stores and any(map(self.hosts.is_connected, able))

    def _changed(self) -> None:
        self.processes.look()
        for call in self.listeners:
            call()

    def _given_back(self, node: str) -> None:
        self.fences.given_back(node)
        self.processes.look()

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.outcome.breach(Invariant.RUNNING, f"{type(error).__name__}: {error}")
