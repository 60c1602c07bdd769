"""The informer over a tiny server, in virtual time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.tiny_server import TinyServer
from vacate.api.kinds import PODS
from vacate.api.types import Pod
from vacate.cache.informer import Informer, Tuning
from vacate.cache.listwatch import Phase
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import TransportError
from vacate.sim.faults.transport import (
    Fault,
    FaultSource,
    FaultyTransport,
    RandomPlan,
    RequestFaultRates,
    Script,
)
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim

Changes = list[tuple[str | None, str | None]]


def informer(sim: Sim, server: TinyServer, plan: FaultSource | None = None, **options: Any) -> Informer[Pod]:
    transport = FaultyTransport(InProcessTransport(server), plan or Script([]), sim.clock)
    return Informer(Client(transport), PODS, Pod, clock=sim.clock, entropy=sim.entropy, **options)


@asynccontextmanager
async def running(one: Informer[Pod]) -> Any:
    task = asyncio.create_task(one.run())
    try:
        await one.wait_synced()
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


def names(one: Informer[Pod]) -> list[str]:
    return [pod.metadata.name for pod in one.reader.list()]


def note(changes: Changes) -> Callable[[Pod | None, Pod | None], None]:
    def handler(old: Pod | None, new: Pod | None) -> None:
        changes.append((_version(old), _version(new)))

    return handler


def _version(pod: Pod | None) -> str | None:
    return pod.metadata.resource_version if pod else None


def simulate(main: Callable[[Sim], Awaitable[None]], seed: int = 0) -> None:
    run_sim(main, seed, limit=7 * 86400.0)


@pytest.mark.parametrize("stream_lists", [True, False])
def test_it_lists_and_follows(stream_lists: bool) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer(stream_lists=stream_lists)
        server.put(PODS, "b")
        server.put(PODS, "a")
        one, changes = informer(sim, server), list[Any]()
        one.subscribe(note(changes))
        async with running(one):
            assert names(one) == ["a", "b"]
            assert changes == [(None, "2"), (None, "1")]
            await sim.clock.sleep(1)
            server.put(PODS, "b")
            server.remove(PODS, "a")
            await sim.clock.sleep(1)
            assert names(one) == ["b"]
            assert changes[2:] == [("1", "3"), ("4", None)]
            assert one.reader.resource_version == "4"
            late: Changes = []
            one.subscribe(note(late))
            assert late == [(None, "3")]
        assert server.streams == []

    simulate(main)


def test_many_pages_are_shown_at_once() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer(stream_lists=False)
        for number in range(1203):
            server.put(PODS, f"p{number:04}")
        one, sizes = informer(sim, server), list[int]()
        one.subscribe(lambda old, new: sizes.append(len(one.reader)))
        async with running(one):
            assert set(sizes) == {1203}
            assert server.count(watch=False) == 3

    simulate(main)


@pytest.mark.parametrize("stream_lists", [True, False])
def test_readers_never_see_a_shrink_during_a_relist(stream_lists: bool) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer(stream_lists=stream_lists)
        for number in range(1100):
            server.put(PODS, f"p{number:04}")
        slow = Script([Fault(delay=1.0)] * 50)
        one = informer(sim, server, slow)
        async with running(one):
            await sim.clock.sleep(5)
            for stream in list(server.streams):
                stream.fail(TransportError("cut"))
            server.remove(PODS, "p0000")
            server.put(PODS, "p0001")
            server.put(PODS, "new")
            server.compact()
            changes: Changes = []
            sizes = set()
            one.subscribe(note(changes))
            changes.clear()
            while one.reader.resource_version != str(server.revision):
                sizes.add(len(one.reader))
                await sim.clock.sleep(0.01)
            assert sizes == {1100}
            assert len(one.reader) == 1100
            assert sorted(changes, key=str) == [("1", None), ("2", "1102"), (None, "1103")]

    simulate(main)


def test_a_cut_watch_is_resumed_where_it_was() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        server.put(PODS, "a")
        one, changes = informer(sim, server), list[Any]()
        async with running(one):
            one.subscribe(note(changes))
            await sim.clock.sleep(1)
            server.streams[0].fail(TransportError("cut"))
            await sim.clock.sleep(0.1)
            server.put(PODS, "b")
            await sim.clock.sleep(5)
            assert names(one) == ["a", "b"]
            assert server.requests[-1].query["resourceVersion"] == "1"
            assert changes == [(None, "1"), (None, "2")]

    simulate(main)


def test_a_bookmark_saves_a_relist_after_compaction() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        server.put(PODS, "a")
        one = informer(sim, server)
        async with running(one):
            await sim.clock.sleep(1)
            server.revision = 50
            server.bookmark()
            await sim.clock.sleep(1)
            server.compact()
            server.streams[0].end()
            await sim.clock.sleep(5)
            assert one.position.phase is Phase.WATCHING
            assert server.requests[-1].query["resourceVersion"] == "50"
            assert len(server.requests) == 2

    simulate(main)


def test_a_silent_watch_is_found_out() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        tuning = Tuning(watch_seconds=(300.0, 300.0), overdue_seconds=30.0)
        one = informer(sim, server, Script([Fault(stall_after=1)]), tuning=tuning)
        async with running(one):
            await sim.clock.sleep(1)
            server.put(PODS, "a")
            await sim.clock.sleep(328)
            assert names(one) == []
            await sim.clock.sleep(5)
            assert names(one) == ["a"]

    simulate(main)


def test_at_rest_there_is_one_watch_and_nothing_else() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        one = informer(sim, server, tuning=Tuning(watch_seconds=(86400.0, 86400.0)))
        async with running(one):
            await sim.clock.sleep(86000)
            assert len(server.requests) == 1

    simulate(main)


def test_failures_are_spaced_out_and_retry_after_is_respected() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        moments: list[float] = []

        class Down:
            def fault(self, request: Any) -> Fault:
                moments.append(sim.clock.monotonic())
                return Fault(lost=len(moments) < 10)

        one = informer(sim, server, Down())
        async with running(one):
            gaps = [later - earlier for earlier, later in itertools.pairwise(moments)]
            floors = [0.8, 1.6, 3.2, 6.4, 7.5, 7.5, 7.5, 7.5, 7.5]
            assert len(gaps) == len(floors)
            assert all(low <= gap <= 2 * low for gap, low in zip(gaps, floors, strict=True))

    simulate(main)


def test_an_error_in_a_handler_ends_the_informer() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        server.put(PODS, "a")
        one = informer(sim, server)

        def broken(old: Pod | None, new: Pod | None) -> None:
            raise ZeroDivisionError

        one.subscribe(broken)
        with pytest.raises(ZeroDivisionError):
            await one.run()

    simulate(main)


def test_an_index_comes_before_the_start_or_not_at_all() -> None:
    async def main(sim: Sim) -> None:
        one = informer(sim, TinyServer())
        one.add_indexes({"name": lambda pod: [pod.metadata.name]})
        async with running(one):
            with pytest.raises(RuntimeError, match="too late"):
                one.add_indexes({"other": lambda pod: []})

    simulate(main)


@pytest.mark.thorough(beyond=5)
@pytest.mark.parametrize("sim_seed", range(8))
def test_under_faults_it_always_ends_up_with_the_truth(sim_seed: int) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer(stream_lists=sim_seed % 2 == 0)
        chances = RequestFaultRates(
            delay=0.5, lost=0.1, unanswered=0.1, refused=0.1, cut=0.4, stall=0.05, repeat=0.3
        )
        one = informer(sim, server, RandomPlan(chances, sim.stream("faults")))
        mirror: dict[str, str] = {}
        one.subscribe(lambda old, new: _mirror(mirror, old, new))
        changes = sim.stream("changes")
        async with running(one):
            for _ in range(300):
                _change_something(server, changes.uniform(0, 1))
                await sim.clock.sleep(changes.uniform(0, 2))
            await sim.clock.sleep(3600)
            truth = {key[2]: obj["metadata"]["resourceVersion"] for key, obj in server.objects.items()}
            assert {p.metadata.name: p.metadata.resource_version for p in one.reader.list()} == truth
            assert mirror == truth

    simulate(main, sim_seed)


def _mirror(mirror: dict[str, str], old: Pod | None, new: Pod | None) -> None:
    """Handlers alone must be enough to follow: before and after always join up."""
    if new is not None:
        assert (old is None) == (new.metadata.name not in mirror)
        mirror[new.metadata.name] = new.metadata.resource_version
    else:
        assert old is not None
        del mirror[old.metadata.name]


def _change_something(server: TinyServer, number: float) -> None:
    name = f"p{int(number * 100) % 10}"
    if number < 0.1:
        server.compact()
    elif number < 0.4 and (PODS.resource, "default", name) in server.objects:
        server.remove(PODS, name)
    elif number < 0.5:
        server.bookmark()
    else:
        server.put(PODS, name)
