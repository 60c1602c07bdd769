"""Start, readiness, clean stop, and no silent death."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from support.runtime_deps import make_deps
from support.tiny_server import TinyServer
from vacate.api.kinds import LEASES, PODS
from vacate.api.types import Pod
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.leaderelection import LeaderElector, LeadershipLost
from vacate.runtime.manager import Manager
from vacate.runtime.reconcile import Done, Key, Outcome
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim


Ending = Callable[[], Awaitable[None]]


class Watcher:
    """Notes what was known at the first reconcile."""

    def __init__(self, deps: Dependencies) -> None:
        self.pods = deps.informers.informer(PODS, Pod)
        self.seen: list[int] = []

    async def reconcile(self, key: Key) -> Outcome:
        self.seen.append(len(self.pods.reader))
        return Done()


class Part:
    """A runnable that notes its comings and goings, and may break."""

    def __init__(
        self, name: str, diary: list[str], ends: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.name = name
        self._diary = diary
        self._ends = ends

    async def run(self) -> None:
        self._diary.append(f"+{self.name}")
        try:
            if self._ends is not None:
                await self._ends()
                return
            await asyncio.Event().wait()
        finally:
            self._diary.append(f"-{self.name}")


def controller(deps: Dependencies) -> tuple[Controller, Watcher]:
    watcher = Watcher(deps)
    return Controller("watcher", watcher, [Source(watcher.pods)], deps), watcher


def elector(deps: Dependencies, name: str = "me") -> LeaderElector:
    return LeaderElector(
        deps.client, deps.clock, deps.entropy, deps.metrics, name="m", namespace="kube-system", identity=name
    )


def test_controllers_start_on_synced_caches_and_all_stops_in_reverse() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        for name in "abc":
            server.put(PODS, name)
        deps = make_deps(sim, server)
        one, watcher = controller(deps)
        diary: list[str] = []
        manager = Manager(
            deps.informers,
            [one],
            runnables=[Part("first", diary), Part("second", diary)],
            elector=elector(deps),
        )
        running = asyncio.create_task(manager.run())
        assert not manager.ready
        await manager.wait_ready()
        await sim.clock.sleep(1)
        assert watcher.seen == [3, 3, 3]
        lease = server.objects[LEASES.resource, "kube-system", "m"]
        assert lease["spec"]["holderIdentity"] == "me"
        manager.stop()
        manager.stop()
        await running
        assert not manager.ready
        assert diary == ["+first", "+second", "-second", "-first"]
        assert server.streams == []
        lease = server.objects[LEASES.resource, "kube-system", "m"]
        assert lease["spec"]["holderIdentity"] == ""

    run_sim(main)


def test_a_part_that_fails_brings_all_down_with_its_error() -> None:
    async def main(sim: Sim) -> None:
        server, diary = TinyServer(), list[str]()
        deps = make_deps(sim, server)
        one, _ = controller(deps)

        async def breaks() -> None:
            await sim.clock.sleep(5)
            raise ZeroDivisionError("broken")

        manager = Manager(deps.informers, [one], runnables=[Part("good", diary), Part("bad", diary, breaks)])
        with pytest.raises(ZeroDivisionError) as caught:
            await manager.run()
        assert "this ended bad" in "".join(caught.value.__notes__)
        assert diary == ["+good", "+bad", "-bad", "-good"]
        assert server.streams == []
        assert sim.clock.monotonic() == 5.0

    run_sim(main)


def test_a_part_that_just_returns_is_a_failure_too() -> None:
    async def main(sim: Sim) -> None:
        async def returns() -> None:
            await asyncio.sleep(0)

        deps = make_deps(sim, TinyServer())
        with pytest.raises(RuntimeError, match="short ended by itself"):
            await Manager(deps.informers, [], runnables=[Part("short", [], returns)]).run()

    run_sim(main)


def test_an_error_in_an_informers_handler_reaches_the_top() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        deps = make_deps(sim, server)

        def broken(old: Pod | None, new: Pod | None) -> None:
            raise ZeroDivisionError

        deps.informers.informer(PODS, Pod).subscribe(broken)
        manager = Manager(deps.informers, [])
        running = asyncio.create_task(manager.run())
        await manager.wait_ready()
        server.put(PODS, "a")
        with pytest.raises(ZeroDivisionError):
            await running

    run_sim(main)


def test_losing_the_lease_brings_all_down() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        deps = make_deps(sim, server)
        manager = Manager(deps.informers, [controller(deps)[0]], elector=elector(deps))
        running = asyncio.create_task(manager.run())
        await manager.wait_ready()
        server.put(LEASES, "m", "kube-system", spec={"holderIdentity": "other", "leaseDurationSeconds": 15})
        with pytest.raises(LeadershipLost):
            await running

    run_sim(main)


@pytest.mark.parametrize("after", [0.0, 30.0])
def test_it_stops_while_it_still_waits_for_the_lease(after: float) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        server.put(LEASES, "m", "kube-system", spec={"holderIdentity": "x", "leaseDurationSeconds": 99999})
        deps = make_deps(sim, server)
        one, watcher = controller(deps)
        manager = Manager(deps.informers, [one], elector=elector(deps))
        if not after:
            manager.stop()
        running = asyncio.create_task(manager.run())
        await sim.clock.sleep(after)
        manager.stop()
        await running
        assert watcher.seen == []
        assert server.streams == []

    run_sim(main)


def test_cancelling_run_stops_everything() -> None:
    async def main(sim: Sim) -> None:
        diary: list[str] = []
        manager = Manager(make_deps(sim, TinyServer()).informers, [], runnables=[Part("only", diary)])
        running = asyncio.create_task(manager.run())
        await manager.wait_ready()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert diary == ["+only", "-only"]

    run_sim(main)


def test_a_second_cancellation_leaves_nothing_running() -> None:
    async def main(sim: Sim) -> None:
        server, diary = TinyServer(), list[str]()
        deps = make_deps(sim, server)
        one, _ = controller(deps)

        async def ends_slowly() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await sim.clock.sleep(5)

        manager = Manager(
            deps.informers, [one], runnables=[Part("first", diary), Part("slow", diary, ends_slowly)]
        )
        running = asyncio.create_task(manager.run())
        await manager.wait_ready()
        running.cancel()
        await sim.clock.sleep(1)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert diary == ["+first", "+slow", "-slow", "-first"]
        assert server.streams == []

    run_sim(main)
