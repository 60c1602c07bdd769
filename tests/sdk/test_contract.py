"""What a handler may write and when, with clocks that differ and over a bad network."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from support.simulated.sdk import RecordingHandler, SdkCluster, in_sdk_cluster, writes
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

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

BACKUP, CACHE = "backup.example.com", "cache.example.com"


def test_what_the_contract_forbids_is_refused_before_it_is_written() -> None:
    async def body(stage: SdkCluster) -> None:
        faults: list[str] = []
        tried = asyncio.Event()

        async def tries(context: EvictionContext) -> None:
            for act in (
                context.report(conditions=[Condition("Complete", True, "Done")]),
                context.report(conditions=[Condition("Mine", "Perhaps", "Done")]),
                context.report(conditions=[Condition("Mine", True, "")]),
                context.report(conditions=[Condition(f"Mine{n}", True, "Many") for n in range(97)]),
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

        await stage.program(Interceptor(BACKUP, tries))
        await stage.pod("web", BACKUP)
        await stage.requester().request("web")
        await stage.until(tried.is_set, 60.0)  # a breach must fail here, and not wait for ever
        assert faults == [
            "condition Complete is the controller's; choose another type",
            "condition Mine: status 'Perhaps' is not one of True, False and Unknown",
            "a condition needs a type and a reason",
            "there would be 97 conditions beside the controller's, of at most 96",
            "expected_finish: 2026-01-01 00:00:00 has no time zone; give it one, UTC for example",
        ]

    in_sdk_cluster(body)


def test_nothing_is_written_after_the_turn_is_over() -> None:
    async def body(stage: SdkCluster) -> None:
        caught: list[TurnEndReason] = []

        async def late(context: EvictionContext) -> None:
            try:
                await context.clock.sleep(3600)
            finally:
                try:
                    await context.report("too late", cancellation=Cancellation.ALLOW)
                except TurnLost as lost:
                    caught.append(lost.reason)

        await stage.program(Interceptor(BACKUP, late))
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        await requester.request("web")
        await stage.until_active(BACKUP)
        await stage.clock.sleep(10)
        await requester.withdraw("web")
        await stage.clock.sleep(10)
        assert caught == [TurnEndReason.CANCELLED]
        assert stage.request.status.message == "The eviction request is cancelled."

    in_sdk_cluster(body)


def test_forbid_holds_requesters_and_allow_lets_them_go() -> None:
    async def body(stage: SdkCluster) -> None:
        go_on = asyncio.Event()

        async def atomic(context: EvictionContext) -> None:
            await context.report("In the middle of it", cancellation=Cancellation.FORBID)
            assert context.request.forbids_cancellation  # written when it returns
            await go_on.wait()
            await context.report(cancellation="Allow")
            await context.clock.sleep(3600)

        await stage.program(Interceptor(BACKUP, atomic))
        await stage.pod("web", BACKUP)
        requester, other = stage.requester(), stage.requester("other.example.com")
        await requester.request("web")
        await stage.until(lambda: stage.request.forbids_cancellation)
        with pytest.raises(CancellationForbidden, match=rf"Forbid was set by {BACKUP}, whose turn it is"):
            await requester.withdraw("web")
        unjoined = await other.request("web")
        assert [one.name for one in unjoined.spec.requesters] == [requester.name]
        go_on.set()
        await stage.until(lambda: not stage.request.forbids_cancellation)
        assert await requester.withdraw("web")
        await stage.until_complete()

    in_sdk_cluster(body)


def test_an_interceptor_may_set_the_policy_as_it_takes_the_turn_on() -> None:
    async def body(stage: SdkCluster) -> None:
        async def waits(context: EvictionContext) -> None:
            assert context.request.forbids_cancellation
            await context.clock.sleep(3600)

        await stage.program(Interceptor(BACKUP, waits, cancellation=Cancellation.FORBID))
        await stage.pod("web", BACKUP)
        await stage.requester().request("web")
        await stage.until(lambda: stage.request.forbids_cancellation)
        states = writes(stage.world, EVICTIONREQUESTS.resource)
        assert len(states) == 3  # created, assigned, taken on

    in_sdk_cluster(body)


@pytest.mark.parametrize("skew", [-9.0, 9.0])
def test_clocks_that_differ(skew: float) -> None:
    async def body(stage: SdkCluster) -> None:
        async def works(context: EvictionContext) -> None:
            await context.clock.sleep(1000)

        clock = stage.world.sim.skewed_clock(skew)
        await stage.program(Interceptor(BACKUP, works), clock=clock)
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        request = await requester.request("web", deadline_seconds=600)
        result = await requester.wait(request)
        assert result.history[0].result.value == "completed"
        assert result.pod_ended

    in_sdk_cluster(body)


def test_a_clock_that_is_too_far_ahead_is_told_and_the_turn_passes_on() -> None:
    async def body(stage: SdkCluster) -> None:
        diary = RecordingHandler()
        await stage.program(Interceptor(BACKUP, diary), clock=stage.world.sim.skewed_clock(30))
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until_active(CACHE)
        assert not diary.lines
        (event,) = stage.events("InterceptorRefused")[:1]
        assert "may not be more than 10 seconds in the future" in event["message"]

    in_sdk_cluster(body)


@pytest.mark.thorough(beyond=1)
def test_over_a_bad_network(sim_seed: int) -> None:
    async def body(stage: SdkCluster) -> None:
        async def works(context: EvictionContext) -> None:
            for part in range(20):
                await context.report(f"{part}", conditions=[Condition("Part", True, f"Part{part}")])
                await context.clock.sleep(60)
            await context.evict()

        def bad(link: Transport) -> Transport:
            chances = RequestFaultRates(delay=0.5, lost=0.1, unanswered=0.1, refused=0.1, cut=0.2, repeat=0.1)
            return FaultyTransport(link, RandomPlan(chances, stage.world.sim.stream("bad")), stage.clock)

        await stage.program(Interceptor(BACKUP, works, attempts=1), through=bad)
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        request = await requester.request("web", deadline_seconds=600)
        result = await requester.wait(request)
        assert result.pod_ended
        assert not stage.events("InterceptorFailed")

    in_sdk_cluster(body, sim_seed)
