"""Since when an informer hears of every change soon, what stands in its way, and what it keeps."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from support.tiny_server import TinyServer
from vacate.api.kinds import PODS
from vacate.api.types import ObjectMeta, Pod
from vacate.cache.informer import Informer, Tuning
from vacate.cache.reflector import Projection
from vacate.client.client import Client
from vacate.clock import LoopClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.entropy import Entropy
from vacate.errors import Gone, TransportError
from vacate.runtime.dependencies import InformerFactory
from vacate.sim.faults.transport import Fault, FaultyTransport, Script
from vacate.sim.run import EPOCH, Sim, run_sim

pytestmark = pytest.mark.sim

SHORT = Tuning(watch_seconds=(100.0, 100.0))


def simulate(main: Callable[[Sim], Awaitable[None]]) -> None:
    run_sim(main, limit=86400.0)


def informer(
    clock: LoopClock,
    entropy: Entropy,
    server: TinyServer,
    faults: list[Fault] | None = None,
    project: Projection[Pod] | None = None,
) -> Informer[Pod]:
    transport = FaultyTransport(InProcessTransport(server), Script(faults or []), clock)
    return Informer(Client(transport), PODS, Pod, clock=clock, entropy=entropy, tuning=SHORT, project=project)


@asynccontextmanager
async def running(one: Informer[Pod]) -> Any:
    task = asyncio.create_task(one.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


def since(one: Informer[Pod]) -> dt.datetime | None:
    return one.unbroken_since


def trouble(one: Informer[Pod]) -> str:
    return "" if one.trouble is None else str(one.trouble)


def at(seconds: float) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=seconds)


@pytest.mark.parametrize("stream_lists", [True, False])
def test_it_counts_from_the_first_watch_and_through_watches_that_end_in_good_order(
    stream_lists: bool,
) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer(stream_lists=stream_lists)
        one = informer(sim.clock, sim.entropy, server)
        assert since(one) is None
        async with running(one):
            await one.wait_synced()
            await sim.clock.sleep(1)
            began = since(one)
            assert began is not None
            assert began <= at(0.1)
            for _ in range(5):
                await sim.clock.sleep(90)
                for stream in list(server.streams):
                    stream.end()
                await sim.clock.sleep(0.1)
                assert since(one) == began
            assert server.count(watch=True) >= 5

    simulate(main)


def test_a_watch_that_breaks_is_a_gap_and_counts_anew_when_the_next_is_open() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        one = informer(sim.clock, sim.entropy, server)
        async with running(one):
            await one.wait_synced()
            await sim.clock.sleep(50)
            for stream in list(server.streams):
                stream.fail(TransportError("cut"))
            await sim.clock.sleep(0.1)
            assert since(one) is None
            assert trouble(one) == "cut"
            await sim.clock.sleep(5)
            assert at(50) < (since(one) or at(0)) < at(55)
            assert not trouble(one)

    simulate(main)


def test_an_expired_revision_is_a_gap() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        server.put(PODS, "a")
        one = informer(sim.clock, sim.entropy, server)
        async with running(one):
            await one.wait_synced()
            await sim.clock.sleep(50)
            for stream in list(server.streams):
                stream.fail(Gone("too old"))
            server.put(PODS, "b")
            server.compact()
            await sim.clock.sleep(10)
            assert (since(one) or at(0)) >= at(50)

    simulate(main)


def test_a_server_that_does_not_answer_is_named() -> None:
    async def main(sim: Sim) -> None:
        one = informer(sim.clock, sim.entropy, TinyServer(), [Fault(lost=True)] * 3)
        async with running(one):
            await sim.clock.sleep(0.5)
            assert since(one) is None
            assert trouble(one)
            await sim.clock.sleep(60)
            assert since(one) is not None
            assert not trouble(one)

    simulate(main)


def bare(pod: Pod) -> Pod:
    meta = pod.metadata
    return Pod(metadata=ObjectMeta(name=meta.name, uid=meta.uid, resource_version=meta.resource_version))


@pytest.mark.parametrize("stream_lists", [True, False])
def test_everything_that_is_kept_is_trimmed(stream_lists: bool) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer(stream_lists=stream_lists)
        server.put(PODS, "a")
        one = informer(
            sim.clock, sim.entropy, server, project=lambda pod: replace(pod, metadata=bare(pod).metadata)
        )
        received: list[Pod] = []
        one.subscribe(lambda old, new: received.extend(each for each in (old, new) if each))
        async with running(one):
            await one.wait_synced()
            server.put(PODS, "b")
            server.remove(PODS, "a")
            await sim.clock.sleep(1)
        assert {each.metadata.name for each in received} == {"a", "b"}
        assert all(each.metadata.namespace == "" for each in (*received, *one.reader.list()))

    simulate(main)


def test_controllers_of_one_process_share_one_projection_of_a_kind() -> None:
    async def main(sim: Sim) -> None:
        client = Client(InProcessTransport(TinyServer()))
        factory = InformerFactory(client, sim.clock, sim.entropy, projections={PODS.resource: bare})
        first = factory.informer(PODS, Pod)
        assert first.project is bare
        assert factory.informer(PODS, Pod) is first
        assert factory.all() == (first,)

    simulate(main)
