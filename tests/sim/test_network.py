"""The simulated network and disk: latency, cuts, crashes, and what they lose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from vacate.embedded.store.log import Record
from vacate.embedded.store.memory import MemoryLog
from vacate.errors import StoreError, TransportError
from vacate.sim.disk import SimDisk
from vacate.sim.network import REQUEST_TIMEOUT, Link, Network
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Peer, Request, Response, Stream

pytestmark = pytest.mark.sim

PEER = Peer("someone", ("some",))


class Ticker:
    """A stream of one chunk a second."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for number in range(1000):
            yield b"%d\n" % number
            await asyncio.sleep(1)

    async def aclose(self) -> None:
        pass


class Echo:
    """Answers with the path and the peer, after a second; watches tick."""

    async def handle(self, request: Request) -> Response:
        if request.path == "/watch":
            return Response(200, Ticker())
        await asyncio.sleep(1)
        assert request.peer is not None
        return Response(200, f"{request.path} {request.peer.name}".encode())


def over_network(body: Callable[[Sim, Network, Link], Awaitable[None]], seed: int = 0) -> None:
    async def main(sim: Sim) -> None:
        network = Network(sim.clock, sim.stream("network"), (0.1, 0.2))
        network.server = Echo()
        await body(sim, network, network.link("me", PEER))

    run_sim(main, seed)


def test_requests_travel_both_ways_under_their_identity() -> None:
    async def body(sim: Sim, network: Network, link: Link) -> None:
        response = await link.send(Request("GET", "/here"))
        assert response.body == b"/here someone"
        assert 1.2 <= sim.loop.time() <= 1.4

    over_network(body)


def test_a_cut_link_times_out_and_heals() -> None:
    async def body(sim: Sim, network: Network, link: Link) -> None:
        network.cut("me")
        with pytest.raises(TransportError, match="no answer in 10 s"):
            await link.send(Request("GET", "/here"))
        assert sim.loop.time() == REQUEST_TIMEOUT
        network.mend("me")
        assert (await link.send(Request("GET", "/here"))).status == 200

    over_network(body)


def test_a_cut_on_the_way_loses_the_answer_of_what_was_done() -> None:
    async def body(sim: Sim, network: Network, link: Link) -> None:
        sim.loop.call_later(0.5, network.cut, "me")
        with pytest.raises(TransportError, match="the answer was lost"):
            await link.send(Request("GET", "/here"))

    over_network(body)


def test_a_dead_server_refuses_and_a_killed_client_says_nothing_more() -> None:
    async def body(sim: Sim, network: Network, link: Link) -> None:
        network.server = None
        with pytest.raises(TransportError, match="connection refused"):
            await link.send(Request("GET", "/here"))
        network.server = Echo()
        network.kill("me")
        with pytest.raises(TransportError, match="is closed"):
            await link.send(Request("GET", "/here"))
        again = network.link("me", PEER)
        assert (await again.send(Request("GET", "/here"))).status == 200

    over_network(body)


async def read(stream: bytes | Stream, into: list[bytes]) -> None:
    assert not isinstance(stream, bytes)
    async for chunk in stream:
        into.append(chunk)


def test_a_watch_falls_silent_while_cut_and_breaks_when_mended() -> None:
    async def body(sim: Sim, network: Network, link: Link) -> None:
        response = await link.send(Request("GET", "/watch"))
        seen: list[bytes] = []
        reading = asyncio.create_task(read(response.body, seen))
        await asyncio.sleep(3.5)
        network.cut("me")
        before = len(seen)
        await asyncio.sleep(60)
        assert len(seen) == before
        network.mend("me")
        with pytest.raises(TransportError, match="reset"):
            await reading

    over_network(body)


def test_a_watch_outlives_a_cut_in_which_nothing_was_sent() -> None:
    async def body(sim: Sim, network: Network, link: Link) -> None:
        response = await link.send(Request("GET", "/watch"))
        seen: list[bytes] = []
        reading = asyncio.create_task(read(response.body, seen))
        await asyncio.sleep(2.5)
        network.cut("me")
        network.mend("me")
        await asyncio.sleep(2)
        assert seen[-1] >= b"3\n"
        reading.cancel()
        await asyncio.wait([reading])

    over_network(body)


def test_a_crash_keeps_what_was_on_the_disk_and_nothing_else() -> None:
    async def main(sim: Sim) -> None:
        log = MemoryLog()
        disk = SimDisk(log, sim.clock, sim.stream("disk"), (1, 2), sim.trace)
        first, second = (Record(n, "pods", "default", "web", False, 2, b"{}") for n in (2, 3))
        await disk.append([first])
        under_way = asyncio.create_task(disk.append([second]))
        await asyncio.sleep(0.5)
        disk.cut_power()
        with pytest.raises(StoreError, match="lost power"):
            await under_way
        assert list(log.records) == [2]
        writes = [entry for entry in sim.trace.entries if " write " in entry]
        assert len(writes) == 1
        assert " write 2 pods/default/web " in writes[0]

    run_sim(main, keep_trace=True)
