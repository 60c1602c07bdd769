"""Client, cache and runtime on the embedded server, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from vacate.api.events import NORMAL, EventNote, regarding
from vacate.api.identity import MASTERS
from vacate.api.kinds import CONFIGMAPS, EVENTS, LEASES, NAMESPACES
from vacate.api.options import DeleteOptions, ListOptions, WatchOptions
from vacate.api.types import ConfigMap
from vacate.cache.informer import Informer, Tuning
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.memory import MemoryLog
from vacate.errors import Conflict, Gone, VacateError
from vacate.metrics import Metrics
from vacate.runtime.expectations import Expectations
from vacate.runtime.leaderelection import LeaderElector
from vacate.runtime.reconcile import Key
from vacate.runtime.recorder import EventRecorder
from vacate.sim.faults.transport import (
    Fault,
    FaultSource,
    FaultyTransport,
    RandomPlan,
    RequestFaultRates,
    Script,
)
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Peer, Request, Response

pytestmark = pytest.mark.sim

ADMIN = Peer("admin", (MASTERS,))


@asynccontextmanager
async def cluster(sim: Sim) -> AsyncIterator[ApiServer]:
    server = await open_server(ServerParts(MemoryLog(), sim.clock, sim.stream("server")))
    try:
        yield server
    finally:
        await server.storage.store.aclose()


def client_of(sim: Sim, server: ApiServer, plan: FaultSource | None = None) -> Client:
    return Client(FaultyTransport(InProcessTransport(server, ADMIN), plan or Script([]), sim.clock))


@asynccontextmanager
async def running(work: Awaitable[None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def informer(sim: Sim, client: Client, **options: Any) -> Informer[ConfigMap]:
    options.setdefault("namespace", "shop")
    return Informer(client, CONFIGMAPS, ConfigMap, clock=sim.clock, entropy=sim.entropy, **options)


def simulate(main: Callable[[Sim], Awaitable[None]], seed: int = 0) -> None:
    run_sim(main, seed, limit=30 * 86400.0)


def test_every_way_of_reading_agrees() -> None:
    async def main(sim: Sim) -> None:
        async with cluster(sim) as server:
            client = client_of(sim, server)
            await client.create(NAMESPACES, {"metadata": {"name": "shop"}})
            for number in range(7):
                obj = {"metadata": {"name": f"c{number}", "labels": {"odd": str(number % 2)}}}
                await client.create(CONFIGMAPS, obj, "shop")
            one = informer(sim, client, label_selector="odd=1")
            async with running(one.run()):
                await one.wait_synced()
                assert [obj.metadata.name for obj in one.reader.list()] == ["c1", "c3", "c5"]
                await client.patch(CONFIGMAPS, "c1", {"metadata": {"labels": {"odd": "no"}}}, "shop")
                await client.delete(CONFIGMAPS, "c3", "shop")
                await sim.clock.sleep(1)
                assert [obj.metadata.name for obj in one.reader.list()] == ["c5"]
            names: list[str] = []
            token = ""
            while not names or token:
                page = await client.list(
                    CONFIGMAPS, "shop", ListOptions(limit=2, continue_token=token), into=ConfigMap
                )
                names += [obj.metadata.name for obj in page.items]
                token = page.continue_token
            assert names == ["c0", "c1", "c2", "c4", "c5", "c6"]
            got = await client.get(CONFIGMAPS, "c1", "shop")
            with pytest.raises(Conflict):
                await client.delete(CONFIGMAPS, "c1", "shop", DeleteOptions(uid="another"))
            await client.delete(CONFIGMAPS, "c1", "shop", DeleteOptions(uid=got["metadata"]["uid"]))

    simulate(main)


def test_history_that_is_gone_is_reported_and_listed_anew() -> None:
    async def main(sim: Sim) -> None:
        async with cluster(sim) as server:
            client = client_of(sim, server)
            await client.create(NAMESPACES, {"metadata": {"name": "shop"}})
            cut = informer(sim, client_of(sim, server, Script([Fault(cut_after=1)])))
            seen: list[tuple[bool, bool]] = []
            cut.subscribe(lambda old, new: seen.append((old is None, new is None)))
            async with running(cut.run()):
                await cut.wait_synced()
                for name in ("a", "b"):
                    await client.create(CONFIGMAPS, {"metadata": {"name": name}}, "shop")
                await client.delete(CONFIGMAPS, "a", "shop")
                await server.storage.store.compact(server.storage.store.revision)
                with pytest.raises(Gone):
                    await client.watch(CONFIGMAPS, options=WatchOptions(resource_version="1")).read()
                await sim.clock.sleep(30)
                assert [obj.metadata.name for obj in cut.reader.list()] == ["b"]
                assert seen == [(True, False)], "what came and went unseen is not reported"

    simulate(main)


@pytest.mark.thorough
@pytest.mark.parametrize("sim_seed", range(4))
def test_under_faults_the_cache_ends_up_with_the_truth(sim_seed: int) -> None:
    async def main(sim: Sim) -> None:
        async with cluster(sim) as server:
            client, store = client_of(sim, server), server.storage.store
            await client.create(NAMESPACES, {"metadata": {"name": "shop"}})
            chances = RequestFaultRates(
                delay=0.5, lost=0.1, unanswered=0.1, refused=0.1, cut=0.4, stall=0.05, repeat=0.3
            )
            tuning = Tuning(watch_seconds=(20.0, 60.0))
            faulty = client_of(sim, server, RandomPlan(chances, sim.stream("faults")))
            one = informer(sim, faulty, tuning=tuning)
            entropy = sim.stream("changes")
            async with running(one.run()):
                await one.wait_synced()
                for _ in range(200):
                    await _change_something(client, int(entropy.uniform(0, 10)), entropy.uniform(0, 1))
                    if entropy.uniform(0, 1) < 0.05:
                        await store.compact(store.revision)
                    await sim.clock.sleep(entropy.uniform(0, 2))
                await sim.clock.sleep(3600)
                truth = (await client.list(CONFIGMAPS, "shop", into=ConfigMap)).items
                assert one.reader.list() == list(truth)
                assert truth

    simulate(main, sim_seed)


async def _change_something(client: Client, number: int, chance: float) -> None:
    name = f"c{number}"
    try:
        if chance < 0.4:
            await client.create(CONFIGMAPS, {"metadata": {"name": name}}, "shop")
        elif chance < 0.8:
            await client.patch(CONFIGMAPS, name, {"data": {"k": str(chance)}}, "shop")
        else:
            await client.delete(CONFIGMAPS, name, "shop")
    except VacateError:
        return  # it is there already, or not there: the next change will do something


def test_two_electors_share_a_lease() -> None:
    async def main(sim: Sim) -> None:
        async with cluster(sim) as server:
            metrics = Metrics()

            def elector(name: str) -> LeaderElector:
                return LeaderElector(
                    client_of(sim, server),
                    sim.clock,
                    sim.stream(name),
                    metrics,
                    name="vacate",
                    namespace="kube-system",
                    identity=name,
                )

            a, b = elector("a"), elector("b")
            await a.acquire()
            waiting = asyncio.create_task(b.acquire())
            async with running(a.hold()):
                await sim.clock.sleep(60)
                assert (a.leading, b.leading) == (True, False)
            await waiting
            assert (a.leading, b.leading) == (False, True)
            lease = await client_of(sim, server).get(LEASES, "vacate", "kube-system")
            assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("b", 1)
            await b.release()

    simulate(main)


def test_a_lease_is_given_back_in_the_middle_of_a_renewal() -> None:
    """The renewal is on its way to a slow disk, and every request is answered without a pause."""

    async def main(sim: Sim) -> None:
        log = MemoryLog(clock=sim.clock, latency=lambda: 0.5)
        server = await open_server(ServerParts(log, sim.clock, sim.stream("server")))
        client = Client(InProcessTransport(server, ADMIN))
        elector = LeaderElector(
            client, sim.clock, sim.stream("a"), Metrics(),
            name="vacate", namespace="kube-system", identity="a", contested=False,
        )  # fmt: skip
        async with running(elector.hold()):
            await sim.clock.sleep(60)
            store = server.storage.store
            while store.tip_revision == store.revision:
                await sim.clock.sleep(0.1)
        lease = await client.get(LEASES, "vacate", "kube-system")
        assert lease["spec"]["holderIdentity"] == ""
        await store.aclose()

    simulate(main)


def test_events_are_accepted_and_counted() -> None:
    async def main(sim: Sim) -> None:
        async with cluster(sim) as server:
            client = client_of(sim, server)
            await client.create(NAMESPACES, {"metadata": {"name": "shop"}})
            await client.create(CONFIGMAPS, {"metadata": {"name": "a"}}, "shop")
            about = regarding(CONFIGMAPS, await client.get(CONFIGMAPS, "a", "shop", into=ConfigMap))
            recorder = EventRecorder(client, sim.clock, sim.entropy, component="test")
            for _ in range(3):
                recorder.record(EventNote(about, NORMAL, "Seen", "it was there"))
            await recorder.flush()
            assert recorder.dropped == 0
            (event,) = (await client.list(EVENTS, "shop")).items
            assert (event["count"], event["involvedObject"]["uid"]) == (3, about.uid)

    simulate(main)


def test_a_create_is_known_to_be_seen() -> None:
    async def main(sim: Sim) -> None:
        async with cluster(sim) as server:
            client = client_of(sim, server)
            await client.create(NAMESPACES, {"metadata": {"name": "shop"}})
            owner, expectations = Key("shop", "owner"), Expectations(sim.clock)

            class Slow:
                async def handle(self, request: Request) -> Response:
                    response = await server.handle(request)
                    await sim.clock.sleep(0.5)
                    return response

            one = informer(sim, Client(InProcessTransport(Slow(), ADMIN)))
            async with running(one.run()):
                made = await client.create(CONFIGMAPS, {"metadata": {"name": "a"}}, "shop")
                expectations.created(owner, made["metadata"]["resourceVersion"])
                assert not expectations.satisfied(owner, one.reader)
                await one.wait_synced()
                await sim.clock.sleep(1)
                assert expectations.satisfied(owner, one.reader)
                assert one.reader.get("shop", "a") is not None

    simulate(main)
