"""An object that cannot be decoded is skipped; everything else goes on, and it comes back by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.tiny_server import TinyServer
from vacate.api.kinds import PODS
from vacate.api.types import Pod
from vacate.cache.informer import Informer
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import UnreadableObject
from vacate.sim.faults.transport import Fault, FaultyTransport, Script
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim

BAD: dict[str, Any] = {"status": {"phase": 7}}
BAD_TIME: dict[str, Any] = {"status": {"startTime": "9999-12-31T23:59:59.9999999Z"}}


def informer(sim: Sim, server: TinyServer, **more: Any) -> Informer[Pod]:
    client = Client(InProcessTransport(server))
    return Informer(client, PODS, Pod, clock=sim.clock, entropy=sim.entropy, **more)


def refuse_odd_pods(pod: Pod) -> Pod:
    if pod.spec.node_name == "odd":
        raise KeyError(pod.spec.node_name)
    return pod


def index_without_odd_pods(pod: Pod) -> list[str]:
    return [refuse_odd_pods(pod).spec.node_name]


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


def unreadable(one: Informer[Pod]) -> list[str]:
    return [each.identity.name for each in one.reader.list_unreadable()]


def simulate(main: Callable[[Sim], Awaitable[None]]) -> None:
    run_sim(main, 0, limit=86400.0)


@pytest.mark.parametrize("stream_lists", [True, False])
def test_a_listing_hands_out_what_can_be_decoded(stream_lists: bool, caplog: Any) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer(stream_lists=stream_lists)
        server.put(PODS, "a")
        server.put(PODS, "bad", **BAD)
        server.put(PODS, "c")
        one = informer(sim, server)
        async with running(one):
            await sim.clock.sleep(1)
            assert names(one) == ["a", "c"]
            assert unreadable(one) == ["bad"]
            found = one.reader.unreadable("default", "bad")
            assert found is not None
            assert "status.phase" in found.reason
            server.put(PODS, "d")
            await sim.clock.sleep(1)
            assert names(one) == ["a", "c", "d"]
            server.put(PODS, "bad")
            await sim.clock.sleep(1)
            assert (names(one), unreadable(one)) == (["a", "bad", "c", "d"], [])

    simulate(main)
    assert len([one for one in caplog.records if one.levelno == logging.WARNING]) == 1


def test_a_change_that_cannot_be_decoded_is_no_deletion() -> None:
    """The last state stays, readers learn that it is not the newest, and a real deletion is reported."""

    async def main(sim: Sim) -> None:
        server = TinyServer()
        server.put(PODS, "a")
        server.put(PODS, "b")
        one, received, seen = informer(sim, server), list[Any](), list[str]()
        async with running(one):
            one.subscribe(lambda old, new: received.append((old, new)))
            one.subscribe_unreadable(lambda each: seen.append(each.identity.resource_version))
            received.clear()
            server.put(PODS, "a", **BAD_TIME)
            server.put(PODS, "b")
            await sim.clock.sleep(1)
            assert [(old.metadata.name, new.metadata.name) for old, new in received] == [("b", "b")]
            assert (names(one), unreadable(one), seen) == (["a", "b"], ["a"], ["3"])
            server.remove(PODS, "a")
            await sim.clock.sleep(1)
            assert (names(one), unreadable(one)) == (["b"], [])
            assert [(old.metadata.name, new) for old, new in received[1:]] == [("a", None)]

    simulate(main)


@pytest.mark.parametrize("stream_lists", [True, False])
def test_a_relist_keeps_the_last_state_and_says_nothing_twice(stream_lists: bool, caplog: Any) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer(stream_lists=stream_lists)
        server.put(PODS, "a")
        one = informer(sim, server)
        async with running(one):
            server.put(PODS, "a", **BAD)
            await sim.clock.sleep(1)
            lists = len(server.requests)
            server.compact()
            for stream in list(server.streams):
                stream.end()
            await sim.clock.sleep(60)
            assert len(server.requests) > lists
            assert (names(one), unreadable(one)) == (["a"], ["a"])
            server.remove(PODS, "a")
            server.put(PODS, "a", **BAD)
            await sim.clock.sleep(60)
            assert (names(one), unreadable(one)) == ([], ["a"])

    simulate(main)
    assert [one.levelno for one in caplog.records if "skipped" in one.message] == [logging.WARNING] * 2


@pytest.mark.parametrize("stream_lists", [True, False])
@pytest.mark.parametrize(
    "functions",
    [{"project": refuse_odd_pods}, {"indexes": {"node": index_without_odd_pods}}],
    ids=["projection", "index"],
)
def test_an_object_that_projection_or_index_cannot_take_is_unreadable(
    stream_lists: bool, functions: dict[str, Any], caplog: Any
) -> None:
    """In a listing, in an event, after a relist and in a deletion: the informer and its neighbours go on."""
    odd: dict[str, Any] = {"spec": {"nodeName": "odd"}}

    async def main(sim: Sim) -> None:
        server = TinyServer(stream_lists=stream_lists)
        server.put(PODS, "a")
        server.put(PODS, "bad", **odd)
        one = informer(sim, server, **functions)
        async with running(one) as task:
            await sim.clock.sleep(1)
            assert (names(one), unreadable(one)) == (["a"], ["bad"])
            server.put(PODS, "a", **odd)
            server.put(PODS, "c")
            await sim.clock.sleep(1)
            assert (names(one), unreadable(one)) == (["a", "c"], ["a", "bad"])
            server.compact()
            for stream in list(server.streams):
                stream.end()
            await sim.clock.sleep(60)
            assert (names(one), unreadable(one)) == (["a", "c"], ["a", "bad"])
            server.remove(PODS, "a")
            server.put(PODS, "bad")
            await sim.clock.sleep(1)
            assert (names(one), unreadable(one)) == (["bad", "c"], [])
            assert not task.done()

    simulate(main)
    skipped = [one.message for one in caplog.records if "skipped" in one.message]
    assert len(skipped) == 2
    assert "default/bad cannot be" in skipped[0]
    assert "KeyError" in skipped[0]


def test_an_object_read_by_name_names_itself_and_the_field() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        server.put(PODS, "a", **BAD_TIME)
        client = Client(InProcessTransport(server))
        with pytest.raises(UnreadableObject, match=r"Pod default/a cannot be decoded: .*status\.startTime"):
            await client.get(PODS, "a", "default", into=Pod)

    simulate(main)


def test_an_informer_that_makes_no_progress_says_so(caplog: Any) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        plan = Script([Fault(lost=True)] * 8)
        client = Client(FaultyTransport(InProcessTransport(server), plan, sim.clock))
        one: Informer[Pod] = Informer(client, PODS, Pod, clock=sim.clock, entropy=sim.entropy)
        assert one.stalled_since is None
        began = sim.clock.now()
        task = asyncio.create_task(one.run())
        await sim.clock.sleep(20)
        assert one.stalled_since == began
        assert one.trouble is not None
        await one.wait_synced()
        await sim.clock.sleep(1)
        assert one.stalled_since is None
        task.cancel()
        await asyncio.wait([task])

    simulate(main)
    assert [one.message for one in caplog.records][-1] == "pods: changes arrive again"
