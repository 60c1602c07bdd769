"""A limit of one's own, and a busy server's Retry-After, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from prometheus_client import generate_latest

from support.tiny_server import TinyServer
from vacate.api.kinds import CONFIGMAPS, EVENTS, PODS, SUBJECTACCESSREVIEWS
from vacate.api.objects import encode
from vacate.api.status import to_status
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import ConfigError, TooManyRequests, TransportError
from vacate.metrics import Metrics
from vacate.runtime.leaderelection import LeadershipLost
from vacate.runtime.leaderwrites import LeaderTransport
from vacate.runtime.ratelimit import (
    BUSY_REQUESTS,
    MAX_EVENT_DELAY,
    MAX_RETRY_AFTER,
    READS,
    RateLimit,
    RateLimitedTransport,
)
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.sim

BUSY = b"Too many requests, please try again later.\n"


class Counter:
    """A server that is busy for a number of requests, and the moments at which it was asked."""

    def __init__(self, clock: Clock, busy: int = 0, body: bytes = BUSY, after: str = "3") -> None:
        self._inner = InProcessTransport(TinyServer())
        self._clock = clock
        self._refusal = Response(429, body, "text/plain", {"Retry-After": after} if after else {})
        self.busy = busy
        self.broken = 0  # so many requests get no answer
        self.times: list[float] = []

    async def send(self, request: Request) -> Response:
        self.times.append(self._clock.monotonic())
        if self.broken:
            self.broken -= 1
            raise TransportError("no answer")
        if self.busy:
            self.busy -= 1
            return self._refusal
        return await self._inner.send(request)

    async def aclose(self) -> None:
        """Nothing is held."""


def simulate(main: Callable[[Sim], Awaitable[None]]) -> None:
    run_sim(main)


def paced(sim: Sim, server: Counter, **pace: float) -> Client:
    return Client(RateLimitedTransport(server, sim.clock, RateLimit(**pace)))  # type: ignore[arg-type]


async def read(client: Client, times: int = 1) -> None:
    await asyncio.gather(*(client.list(PODS) for _ in range(times)))


def since(start: float, times: list[float]) -> list[float]:
    return [round(one - start, 3) for one in times]


@pytest.mark.parametrize(
    ("pace", "expected"),
    [
        ({}, [0.0] * 6),
        ({"qps": 2, "burst": 3}, [0, 0, 0, 0.5, 1.0, 1.5]),
        ({"qps": 2}, [0, 0, 0, 0, 0.5, 1.0]),
        ({"qps": 0.1, "burst": 1}, [0, 10, 20, 30, 40, 50]),
    ],
)
def test_requests_leave_no_faster_than_the_rate(pace: dict[str, float], expected: list[float]) -> None:
    async def main(sim: Sim) -> None:
        start, server = sim.clock.monotonic(), Counter(sim.clock)
        await read(paced(sim, server, **pace), 6)
        assert since(start, server.times) == pytest.approx(expected)

    simulate(main)


def test_a_quiet_while_refills_the_burst_and_no_more() -> None:
    async def main(sim: Sim) -> None:
        server = Counter(sim.clock)
        client = paced(sim, server, qps=1, burst=2)
        await read(client, 2)
        await sim.clock.sleep(3600)
        start = sim.clock.monotonic()
        await read(client, 3)
        assert since(start, server.times[2:]) == pytest.approx([0, 0, 1])

    simulate(main)


def test_watches_take_no_part_in_the_rate() -> None:
    async def main(sim: Sim) -> None:
        start, server = sim.clock.monotonic(), Counter(sim.clock)
        client = paced(sim, server, qps=1, burst=1)
        await read(client)
        for _ in range(5):
            async with client.watch(PODS) as watch:
                await watch.open()
        assert since(start, server.times) == [0.0] * 6

    simulate(main)


class Slow(Counter):
    """Answers after half a minute, but Events at once."""

    async def send(self, request: Request) -> Response:
        if "events" not in request.path:
            await self._clock.sleep(30)
        return await super().send(request)


@pytest.mark.parametrize(
    ("others", "waits"), [(0, 0.0), (BUSY_REQUESTS - 1, 0.0), (BUSY_REQUESTS, MAX_EVENT_DELAY)]
)
def test_events_give_way_while_much_is_under_way_but_not_for_long(others: int, waits: float) -> None:
    async def main(sim: Sim) -> None:
        start, server = sim.clock.monotonic(), Slow(sim.clock)
        client = paced(sim, server)
        reading = asyncio.create_task(read(client, others))
        await sim.clock.sleep(1)
        await client.create(EVENTS, {"metadata": {"name": "x"}}, "default")
        await client.patch(EVENTS, "x", {"count": 2}, "default")
        assert since(start, server.times) == pytest.approx([1 + waits, 1 + 2 * waits])
        await reading

    simulate(main)


def test_events_go_as_soon_as_it_is_calm() -> None:
    async def main(sim: Sim) -> None:
        start, server = sim.clock.monotonic(), Slow(sim.clock)
        client = paced(sim, server)
        reading = asyncio.create_task(read(client, BUSY_REQUESTS))
        await sim.clock.sleep(29.5)
        await client.create(EVENTS, {"metadata": {"name": "x"}}, "default")
        assert since(start, [sim.clock.monotonic()]) == pytest.approx([30.0])
        await reading

    simulate(main)


def test_nobody_asks_for_anything_while_the_server_wants_quiet() -> None:
    async def main(sim: Sim) -> None:
        start, server = sim.clock.monotonic(), Counter(sim.clock, busy=1)
        client = paced(sim, server)
        first = asyncio.create_task(client.list(PODS))
        await sim.clock.sleep(1)
        await client.create(CONFIGMAPS, {"metadata": {"name": "x"}}, "default")
        await first
        async with client.watch(PODS) as watch:
            await watch.open()
        assert since(start, server.times) == [0.0, 3.0, 3.0, 3.0]

    simulate(main)


class Seats:
    """A server that answers so many requests at once, each in a hundredth of a second, and refuses more."""

    def __init__(self, clock: Clock, seats: int) -> None:
        self._inner = InProcessTransport(TinyServer())
        self._clock = clock
        self.free = seats
        self.refused = 0
        self.served: list[str] = []

    async def send(self, request: Request) -> Response:
        if not self.free:
            self.refused += 1
            return Response(429, BUSY, "text/plain", {"Retry-After": "1"})
        self.free -= 1
        try:
            await self._clock.sleep(0.01)
            self.served.append(request.path)
            return await self._inner.send(request)
        finally:
            self.free += 1

    async def aclose(self) -> None:
        """Nothing is held."""


async def create_with_retries(sim: Sim, client: Client, name: str) -> None:
    """Write until it is done, as a work queue does."""
    while True:
        try:
            await client.create(CONFIGMAPS, {"metadata": {"name": name}}, "default")
        except TooManyRequests:
            await sim.clock.sleep(0.01)
        else:
            return


@pytest.mark.parametrize(("seats", "most_refused", "most_seconds"), [(1, 40, 15.0), (8, 50, 6.0)])
def test_writes_that_waited_for_a_pause_do_not_all_come_at_once(
    seats: int, most_refused: int, most_seconds: float
) -> None:
    """Of 25 that come together all but the first few are refused once, and few of them again."""

    async def main(sim: Sim) -> None:
        server, start = Seats(sim.clock, seats), sim.clock.monotonic()
        client = Client(RateLimitedTransport(server, sim.clock))
        async with asyncio.TaskGroup() as group:
            for number in range(25):
                group.create_task(create_with_retries(sim, client, f"a-{number}"))
        assert len(server.served) == 25
        assert server.refused <= most_refused
        assert sim.clock.monotonic() - start <= most_seconds  # of virtual time

    simulate(main)


def test_a_request_that_is_cancelled_in_the_queue_takes_no_place_from_others() -> None:
    async def main(sim: Sim) -> None:
        server = Seats(sim.clock, 0)
        client = Client(RateLimitedTransport(server, sim.clock))
        with pytest.raises(TooManyRequests):
            await client.create(CONFIGMAPS, {"metadata": {"name": "first"}}, "default")
        tasks = [asyncio.create_task(create_with_retries(sim, client, f"a-{number}")) for number in range(6)]
        await sim.clock.sleep(0.5)  # one has the place and waits for the end of the pause, five stand in line
        for one in tasks[:3]:
            one.cancel()
        server.free = 1
        await asyncio.wait(tasks)
        assert [one.cancelled() for one in tasks] == [True] * 3 + [False] * 3
        assert len(server.served) == 3

    simulate(main)


def test_a_request_that_fails_leaves_its_place() -> None:
    async def main(sim: Sim) -> None:
        server = Counter(sim.clock, busy=1)
        transport = RateLimitedTransport(server, sim.clock)
        client = Client(transport)
        with pytest.raises(TooManyRequests):
            await client.create(CONFIGMAPS, {"metadata": {"name": "first"}}, "default")
        server.broken = 1
        ends = await asyncio.gather(*(client.list(PODS) for _ in range(3)), return_exceptions=True)
        assert [isinstance(one, TransportError) for one in ends] == [True, False, False]

    simulate(main)


def test_a_read_is_sent_again_and_a_write_goes_back_to_who_decided_it() -> None:
    async def main(sim: Sim) -> None:
        start, server = sim.clock.monotonic(), Counter(sim.clock, busy=READS - 1)
        client = paced(sim, server)
        await client.list(PODS)
        assert since(start, server.times) == [3.0 * number for number in range(READS)]
        server.busy = 1
        with pytest.raises(TooManyRequests) as refused:
            await client.create(CONFIGMAPS, {"metadata": {"name": "x"}}, "default")
        assert refused.value.retry_after_seconds == 3
        assert len(server.times) == READS + 1

    simulate(main)


def test_a_question_in_the_form_of_a_write_is_asked_again_and_all_refusals_are_counted() -> None:
    async def main(sim: Sim) -> None:
        start, server, metrics = sim.clock.monotonic(), Counter(sim.clock, busy=3), Metrics()
        client = Client(RateLimitedTransport(server, sim.clock, metrics=metrics))
        await client.create(SUBJECTACCESSREVIEWS, {"metadata": {"name": "x"}})
        assert since(start, server.times) == [0.0, 3.0, 6.0, 9.0]
        server.busy = 1
        await client.list(PODS)
        metrics_text = generate_latest(metrics.registry).decode()
        assert 'vacate_client_throttled_total{method="POST"} 3.0' in metrics_text
        assert 'vacate_client_throttled_total{method="GET"} 1.0' in metrics_text

    simulate(main)


def test_a_read_is_given_up_in_the_end() -> None:
    async def main(sim: Sim) -> None:
        server = Counter(sim.clock, busy=100)
        with pytest.raises(TooManyRequests):
            await paced(sim, server).list(PODS)
        assert len(server.times) == READS

    simulate(main)


def test_a_very_long_retry_after_is_capped() -> None:
    async def main(sim: Sim) -> None:
        start, server = sim.clock.monotonic(), Counter(sim.clock, busy=1, after="86400")
        await paced(sim, server).list(PODS)
        assert since(start, server.times) == [0.0, MAX_RETRY_AFTER]

    simulate(main)


def budget_refusal() -> bytes:
    causes = [{"reason": "DisruptionBudget", "message": "The disruption budget x needs 2"}]
    error = TooManyRequests(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details={"causes": causes, "retryAfterSeconds": 10},
    )
    return encode(to_status(error))


@pytest.mark.parametrize(("body", "after"), [(budget_refusal(), "10"), (BUSY, ""), (BUSY, "soon")])
def test_a_budget_that_refuses_holds_nobody_else_back(body: bytes, after: str) -> None:
    async def main(sim: Sim) -> None:
        start, server = sim.clock.monotonic(), Counter(sim.clock, busy=1, body=body, after=after)
        client = paced(sim, server)
        with pytest.raises(TooManyRequests):
            await client.evict("p", "default")
        await read(client)
        assert since(start, server.times) == [0.0, 0.0]

    simulate(main)


def test_a_write_that_waited_for_its_turn_is_judged_when_it_leaves() -> None:
    async def main(sim: Sim) -> None:
        server = Counter(sim.clock)
        until = sim.clock.monotonic() + 5
        fenced = LeaderTransport(server, lambda: until - sim.clock.monotonic())
        client = Client(RateLimitedTransport(fenced, sim.clock, RateLimit(0.1, 1)))
        await read(client)
        with pytest.raises(LeadershipLost):
            await client.create(CONFIGMAPS, {"metadata": {"name": "x"}}, "default")
        assert len(server.times) == 1

    simulate(main)


@pytest.mark.parametrize("pace", [{"qps": -1}, {"burst": 5}, {"qps": float("nan")}, {"qps": 1, "burst": -1}])
def test_a_pace_that_makes_no_sense_is_refused(pace: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        RateLimit(**pace)  # type: ignore[arg-type]
