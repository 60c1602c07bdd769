"""What a handler may write and when, with clocks that differ and over a bad network."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from support.simulated.handlers import RecordingHandler
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.client.transport import Transport
from vacate.sdk import (
    Cancellation,
    CancellationForbidden,
    Condition,
    ContractError,
    EvictionContext,
    Interceptor,
    TurnEndReason,
    TurnLost,
)
from vacate.sim.faults.transport import FaultyTransport, RandomPlan, RequestFaultRates
from vacate.testing import SimulatedCluster, simulate

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

BACKUP, CACHE = "backup.example.com", "cache.example.com"


def test_what_the_contract_forbids_is_refused_before_it_is_written() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        faults: list[str] = []
        tried = asyncio.Event()

        async def tries(context: EvictionContext) -> None:
            for act in (
                context.report(conditions=[Condition("Complete", True, "Done")]),
                context.report(conditions=[Condition("Mine", "Perhaps", "Done")]),
                context.report(conditions=[Condition("Mine", True, "")]),
                context.report(conditions=[Condition(f"Mine{n}", True, "Many") for n in range(96)]),
                context.report(expected_finish=dt.datetime(2026, 1, 1)),  # noqa: DTZ001
            ):
                with pytest.raises(ContractError) as caught:
                    await act
                faults.append(str(caught.value))
            await context.report(expected_finish=dt.datetime(2025, 1, 1, tzinfo=dt.UTC))  # the past is fine
            with pytest.raises(ContractError, match="Perhaps"):
                await context.report(cancellation="Perhaps")
            tried.set()
            await context.clock.sleep(3600)

        await cluster.program(Interceptor(BACKUP, tries))
        await cluster.pod("web", BACKUP)
        await cluster.requester().request("web")
        await cluster.until(tried.is_set, 60.0)  # a breach must fail here, and not wait for ever
        assert faults == [
            "condition Complete is the controller's; choose another type",
            "condition Mine: status 'Perhaps' is not one of True, False and Unknown",
            "a condition needs a type and a reason",
            "there would be 96 conditions beside the controller's, of at most 95",
            "expected_finish: 2026-01-01 00:00:00 has no time zone; give it one, UTC for example",
        ]

    simulate(body)


def test_nothing_is_written_after_the_turn_is_over() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        caught: list[TurnEndReason] = []

        async def late(context: EvictionContext) -> None:
            try:
                await context.clock.sleep(3600)
            finally:
                try:
                    await context.report("too late", cancellation=Cancellation.ALLOW)
                except TurnLost as lost:
                    caught.append(lost.reason)

        await cluster.program(Interceptor(BACKUP, late))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        await requester.request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(10)
        await requester.withdraw("web")
        await cluster.clock.sleep(10)
        assert caught == [TurnEndReason.CANCELLED]
        assert cluster.request.status.message == "The eviction request is cancelled."

    simulate(body)


@pytest.mark.thorough
def test_forbid_holds_requesters_and_allow_lets_them_go() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        go_on = asyncio.Event()

        async def atomic(context: EvictionContext) -> None:
            await context.report("In the middle of it", cancellation=Cancellation.FORBID)
            assert context.request.forbids_cancellation  # written when it returns
            await go_on.wait()
            await context.report(cancellation="Allow")
            await context.clock.sleep(3600)

        await cluster.program(Interceptor(BACKUP, atomic))
        await cluster.pod("web", BACKUP)
        requester, other = cluster.requester(), cluster.requester("other.example.com")
        await requester.request("web")
        await cluster.until(lambda: cluster.request.forbids_cancellation)
        with pytest.raises(CancellationForbidden, match=rf"Forbid was set by {BACKUP}, whose turn it is"):
            await requester.withdraw("web")
        unjoined = await other.request("web")
        assert [one.name for one in unjoined.spec.requesters] == [requester.name]
        go_on.set()
        await cluster.until(lambda: not cluster.request.forbids_cancellation)
        assert await requester.withdraw("web")
        await cluster.until_complete()

    simulate(body)


def test_an_interceptor_may_set_the_policy_as_it_takes_the_turn_on() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def waits(context: EvictionContext) -> None:
            assert context.request.forbids_cancellation
            await context.clock.sleep(3600)

        await cluster.program(Interceptor(BACKUP, waits, cancellation=Cancellation.FORBID))
        await cluster.pod("web", BACKUP)
        await cluster.requester().request("web")
        await cluster.until(lambda: cluster.request.forbids_cancellation)
        states = cluster.states(EVICTIONREQUESTS)
        assert len(states) == 3  # created, assigned, taken on

    simulate(body)


@pytest.mark.parametrize("skew", [-9.0, 9.0])
def test_clocks_that_differ(skew: float) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def works(context: EvictionContext) -> None:
            await context.clock.sleep(1000)

        clock = cluster.world.sim.skewed_clock(skew)
        await cluster.program(Interceptor(BACKUP, works), clock=clock)
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        request = await requester.request("web", deadline_seconds=600)
        result = await requester.wait(request)
        assert result.history[0].result.value == "completed"
        assert result.pod_ended

    simulate(body)


def test_a_clock_that_is_too_far_ahead_is_reported_and_the_turn_passes_on() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        diary = RecordingHandler()
        await cluster.program(Interceptor(BACKUP, diary), clock=cluster.world.sim.skewed_clock(30))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(CACHE)
        assert not diary.lines
        (event,) = cluster.events("InterceptorRefused")[:1]
        assert "may not be more than 10 seconds in the future" in event["message"]

    simulate(body)


@pytest.mark.thorough
def test_over_a_bad_network(sim_seed: int) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def works(context: EvictionContext) -> None:
            for part in range(20):
                await context.report(f"{part}", conditions=[Condition("Part", True, f"Part{part}")])
                await context.clock.sleep(60)
            await context.evict()

        def bad(link: Transport) -> Transport:
            chances = RequestFaultRates(delay=0.5, lost=0.1, unanswered=0.1, refused=0.1, cut=0.2, repeat=0.1)
            return FaultyTransport(link, RandomPlan(chances, cluster.world.sim.stream("bad")), cluster.clock)

        await cluster.program(Interceptor(BACKUP, works, attempts=1), wrap_transport=bad)
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        request = await requester.request("web", deadline_seconds=600)
        result = await requester.wait(request)
        assert result.pod_ended
        assert not cluster.events("InterceptorFailed")

    simulate(body, sim_seed)
