"""How a turn ends before the handler is done: cancelled, taken away, stalled, stopped, resumed."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from support.simulated.handlers import RecordingHandler
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.eviction.dialects.turn_conditions import past_turns
from vacate.sdk import (
    NO_ESTIMATE,
    EvictionContext,
    Interceptor,
    TurnResult,
)
from vacate.testing import SimulatedCluster, simulate

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

BACKUP, CACHE = "backup.example.com", "cache.example.com"


def test_a_cancelled_request_cancels_the_handler_which_may_clean_up() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        diary = RecordingHandler(clean_up=5)
        await cluster.program(Interceptor(BACKUP, diary))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        await requester.request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(10)
        assert await requester.withdraw("web")
        await cluster.clock.sleep(1)
        assert diary.lines == ["began"]
        await cluster.clock.sleep(6)
        assert diary.lines == ["began", "CANCELLED"]
        assert cluster.find_pod("web")
        assert "deletionTimestamp" not in cluster.find_pod("web")["metadata"]

    simulate(body)


@pytest.mark.thorough
def test_a_request_that_is_asked_for_again_calls_the_handler_again() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        diary = RecordingHandler(clean_up=20)
        await cluster.program(Interceptor(BACKUP, diary))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        for _ in range(2):
            await requester.request("web")
            await cluster.until_active(BACKUP)
            await cluster.clock.sleep(10)
            await requester.withdraw("web")
            await cluster.clock.sleep(1)
        await cluster.clock.sleep(120)
        assert diary.lines == ["began", "CANCELLED"]  # the second was over before the first had cleaned up
        await requester.request("web")
        await cluster.clock.sleep(10)
        assert diary.lines == ["began", "CANCELLED", "began"]

    simulate(body)


@pytest.mark.thorough
def test_a_request_replaced_during_the_clean_up_is_worked_on_afterwards() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        diary = RecordingHandler(clean_up=20)
        await cluster.program(Interceptor(BACKUP, diary))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        await requester.request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(10)
        await requester.withdraw("web")
        await cluster.clock.sleep(1)
        await requester.request("web")
        await cluster.clock.sleep(60)
        assert diary.lines == ["began", "CANCELLED", "began"]

    simulate(body)


def test_a_deleted_request_cancels_the_handler() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        diary = RecordingHandler()
        await cluster.program(Interceptor(BACKUP, diary))
        await cluster.pod("web", BACKUP)
        request = await cluster.requester().request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(10)
        await cluster.client.delete(EVICTIONREQUESTS, request.metadata.name, "default")
        await cluster.clock.sleep(5)
        assert diary.lines == ["began", "DELETED"]

    simulate(body)


def test_a_pod_that_ends_by_itself_cancels_the_handler() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        diary = RecordingHandler()
        await cluster.program(Interceptor(BACKUP, diary))
        await cluster.pod("web", BACKUP)
        await cluster.requester().request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(10)
        from vacate.api.kinds import PODS

        await cluster.client.delete(PODS, "web", "default")
        await cluster.until(lambda: not cluster.find_pod("web"))
        await cluster.clock.sleep(5)
        assert diary.lines in (["began", "POD_TERMINATED"], ["began", "DELETED"])

    simulate(body)


def test_a_handler_that_hangs_past_its_own_limit_is_no_longer_heartbeaten() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        diary = RecordingHandler()
        within = dt.timedelta(minutes=5)
        await cluster.program(Interceptor(BACKUP, diary, progress_within=within))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        began = cluster.clock.monotonic()
        await cluster.until_active(CACHE)
        passed = cluster.clock.monotonic() - began
        assert 600 < passed < 300 + 600 + 60  # the last heartbeat before the limit, and one deadline
        await cluster.clock.sleep(1)
        assert diary.lines == ["began", "TAKEN_AWAY"]
        event, on_pod = cluster.events("InterceptorStalled")
        kinds = {one["involvedObject"]["kind"] for one in (event, on_pod)}
        assert kinds == {"EvictionRequest", "Pod"}
        assert "no progress for 0:05:00" in event["message"]

    simulate(body)


def test_progress_keeps_the_heartbeat_going() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def steady(context: EvictionContext) -> None:
            for _ in range(20):
                await context.clock.sleep(120)
                context.progress()

        one = Interceptor(BACKUP, steady, progress_within=dt.timedelta(minutes=5))
        await cluster.program(one)
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        began = cluster.clock.monotonic()
        await cluster.until_active(CACHE)
        assert 2399 < cluster.clock.monotonic() - began < 2410
        assert not cluster.events("InterceptorStalled")

    simulate(body)


def test_a_handler_that_hangs_without_a_word_loses_its_turn_by_default(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def hangs(context: EvictionContext) -> None:
            await asyncio.Event().wait()

        await cluster.program(Interceptor(BACKUP, hangs))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        began = cluster.clock.monotonic()
        await cluster.until_active(CACHE)
        assert 3600 < cluster.clock.monotonic() - began < 3600 + 600 + 60
        await cluster.clock.sleep(1)
        assert cluster.events("InterceptorStalled")

    simulate(body)
    assert "pod default/web: the turn is over: another interceptor has the turn" in caplog.text


def test_a_handler_may_be_silent_until_the_finish_that_it_expects() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def copies(context: EvictionContext) -> None:
            await context.report("Copying", expected_finish=dt.timedelta(hours=1))
            await context.clock.sleep(3600 - 60)
            await context.report(expected_finish=NO_ESTIMATE)
            await context.clock.sleep(60)

        await cluster.program(Interceptor(BACKUP, copies))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(3600 - 120)
        estimates = [cluster.request.status.expected_interceptor_finish_time]
        await cluster.clock.sleep(100)
        estimates.append(cluster.request.status.expected_interceptor_finish_time)
        assert [one is None for one in estimates] == [False, True]
        await cluster.until(lambda: cluster.request.status.active_interceptor_name == CACHE, 300)
        assert [turn.result for turn in past_turns(cluster.request)] == [TurnResult.COMPLETED]
        assert not cluster.events("InterceptorStalled")

    simulate(body)


def test_after_a_crash_the_handler_is_called_again_as_a_resumption() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        diary = RecordingHandler()
        process = await cluster.program(Interceptor(BACKUP, diary))
        await cluster.pod("web", BACKUP)
        await cluster.requester().request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(10)
        await process.crash()
        assert not cluster.request.status.active_interceptor_completed
        await process.start()
        await cluster.clock.sleep(5)
        assert diary.lines == ["began", "SHUTDOWN", "resumed"]

    simulate(body)


def test_a_clean_stop_keeps_the_turn_and_writes_nothing() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        diary = RecordingHandler(clean_up=3)
        process = await cluster.program(Interceptor(BACKUP, diary))
        await cluster.pod("web", BACKUP)
        await cluster.requester().request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(10)
        before = cluster.request.metadata.resource_version
        await process.stop()
        assert diary.lines == ["began", "SHUTDOWN"]
        assert cluster.request.metadata.resource_version == before
        assert cluster.request.status.active_interceptor_name == BACKUP

    simulate(body)


def test_a_handler_that_ignores_its_cancellation_is_left_alone() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        let_go = asyncio.Event()

        async def stubborn(context: EvictionContext) -> None:
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue

        process = await cluster.program(Interceptor(BACKUP, stubborn, concurrency=1))
        await cluster.pod("web", BACKUP)
        await cluster.pod("other", BACKUP)
        requester = cluster.requester()
        await requester.request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(5)
        await requester.withdraw("web")
        await cluster.clock.sleep(40)
        other = await requester.request("other")  # its place is free again
        await cluster.until(lambda: dig_heartbeat(cluster, other.metadata.name))
        let_go.set()
        await process.stop()

    simulate(body)


def dig_heartbeat(cluster: SimulatedCluster, name: str) -> object:
    (found,) = [one for one in cluster.requests() if one.metadata.name == name]
    began = next((c for c in found.status.conditions if c.type == "InterceptorAssigned"), None)
    return began is not None and found.status.heartbeat_time != began.last_transition_time
