"""What was noted before a clean stop is written; nobody waits long for a server that does not answer."""

from __future__ import annotations

import asyncio

import pytest

from support.runtime_deps import make_deps
from support.tiny_server import TinyServer
from vacate.api.events import NORMAL, EventNote, regarding
from vacate.api.kinds import EVENTS, PODS
from vacate.api.types import ObjectMeta, Pod
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.leaderelection import LeaderElector
from vacate.runtime.leaderwrites import LeaderTransport
from vacate.runtime.manager import Manager
from vacate.runtime.reconcile import Done, Key, Outcome
from vacate.runtime.recorder import SHUTDOWN_FLUSH_SECONDS, EventRecorder
from vacate.sim.faults.transport import Fault, FaultyTransport, Script
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim

POD = Pod(metadata=ObjectMeta(name="web", namespace="shop", uid="u"))


class Talker:
    """Has something to say of the pod until its last moment."""

    def __init__(self, deps: Dependencies, recorder: EventRecorder) -> None:
        self.pods = deps.informers.informer(PODS, Pod)
        self._recorder = recorder

    async def reconcile(self, key: Key) -> Outcome:
        self._note("Begun")
        try:
            await asyncio.Event().wait()
        finally:
            self._note("Ended")
        return Done()

    def _note(self, reason: str) -> None:
        self._recorder.record(EventNote(regarding(PODS, POD), NORMAL, reason, ""))


def reasons(server: TinyServer) -> list[str]:
    return [obj["reason"] for key, obj in server.objects.items() if key[0] == EVENTS.resource]


async def running(sim: Sim, server: TinyServer, *faults: Fault) -> tuple[Manager, EventRecorder]:
    """A manager whose controller is in the middle of something; its lease guards every write."""
    server.put(PODS, "web")
    deps = make_deps(sim, server)
    elector = LeaderElector(
        deps.client, deps.clock, deps.entropy, deps.metrics, name="m", namespace="kube-system", identity="me"
    )
    faulty = FaultyTransport(InProcessTransport(server), Script(faults), sim.clock)
    fenced = Client(LeaderTransport(faulty, lambda: elector.seconds_left))
    recorder = EventRecorder(fenced, sim.clock, sim.entropy, component="vacate")
    talker = Talker(deps, recorder)
    controllers = [Controller("talker", talker, [Source(talker.pods)], deps)]
    manager = Manager(deps.informers, controllers, runnables=[recorder], elector=elector)
    sim.loop.create_task(manager.run())
    await manager.wait_ready()
    await sim.clock.sleep(1)
    return manager, recorder


async def stopped(sim: Sim, manager: Manager) -> float:
    """How long it took."""
    before = sim.clock.monotonic()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    manager.stop()
    await asyncio.wait(tasks)
    return sim.clock.monotonic() - before


def test_the_last_note_is_written() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        manager, recorder = await running(sim, server, Fault(delay=0.5), Fault(delay=0.5))
        assert await stopped(sim, manager) == pytest.approx(0.5, abs=0.1)
        assert reasons(server) == ["Begun", "Ended"]
        assert recorder.pending == 0

    run_sim(main)


def test_a_server_that_takes_its_time_is_not_waited_for_long() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        manager, _ = await running(sim, server, Fault(), Fault(delay=3600.0))
        assert await stopped(sim, manager) == pytest.approx(SHUTDOWN_FLUSH_SECONDS, abs=0.1)
        assert reasons(server) == ["Begun"]

    run_sim(main)


@pytest.mark.parametrize("fault", [Fault(lost=True), Fault(status=503)], ids=["lost", "unavailable"])
def test_trouble_is_not_waited_for_at_all(fault: Fault) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        manager, _ = await running(sim, server, Fault(), *[fault] * 20)
        assert await stopped(sim, manager) < 0.1
        assert reasons(server) == ["Begun"]

    run_sim(main)
