"""How a turn ends before the handler is done: cancelled, taken away, stalled, failed, stopped, resumed."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from support.sdk_stage import Stage, on_stage, writes
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import dig
from vacate.client.transport import Transport
from vacate.eviction.dialects.turn_conditions import is_held, past_turns
from vacate.eviction.model import Limits
from vacate.sdk import (
    NO_ESTIMATE,
    Cancellation,
    CancellationForbidden,
    Condition,
    ContractError,
    Declined,
    EvictionContext,
    Interceptor,
    OnFailure,
    TurnEndReason,
    TurnLost,
    TurnResult,
)
from vacate.sim.faults.transport import Chances, FaultyTransport, RandomPlan

pytestmark = pytest.mark.sim

BACKUP, CACHE = "backup.example.com", "cache.example.com"


class Diary:
    """A handler that works for an hour, and what it went through."""

    def __init__(self, clean_up: float = 0.0) -> None:
        self.lines: list[str] = []
        self._clean_up = clean_up

    async def __call__(self, leave: EvictionContext) -> None:
        self.lines.append("resumed" if leave.resumed else "began")
        try:
            await leave.report("Working")
            await leave.clock.sleep(3600)
        except asyncio.CancelledError:
            assert leave.end_reason is not None
            await leave.clock.sleep(self._clean_up)
            self.lines.append(leave.end_reason.name)
            raise
        self.lines.append("ended")


def test_a_cancelled_request_cancels_the_handler_which_may_clean_up() -> None:
    async def body(stage: Stage) -> None:
        diary = Diary(clean_up=5)
        await stage.program(Interceptor(BACKUP, diary))
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        await requester.request("web")
        await stage.until_active(BACKUP)
        await stage.clock.sleep(10)
        assert await requester.withdraw("web")
        await stage.clock.sleep(1)
        assert diary.lines == ["began"]
        await stage.clock.sleep(6)
        assert diary.lines == ["began", "CANCELLED"]
        assert stage.find_pod("web")
        assert "deletionTimestamp" not in stage.find_pod("web")["metadata"]

    on_stage(body)


def test_a_request_that_is_asked_for_again_calls_the_handler_again() -> None:
    async def body(stage: Stage) -> None:
        diary = Diary(clean_up=20)
        await stage.program(Interceptor(BACKUP, diary))
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        for _ in range(2):
            await requester.request("web")
            await stage.until_active(BACKUP)
            await stage.clock.sleep(10)
            await requester.withdraw("web")
            await stage.clock.sleep(1)
        await stage.clock.sleep(120)
        assert diary.lines == ["began", "CANCELLED"]  # the second was over before the first had cleaned up
        await requester.request("web")
        await stage.clock.sleep(10)
        assert diary.lines == ["began", "CANCELLED", "began"]

    on_stage(body)


def test_a_request_replaced_during_the_clean_up_is_worked_on_afterwards() -> None:
    async def body(stage: Stage) -> None:
        diary = Diary(clean_up=20)
        await stage.program(Interceptor(BACKUP, diary))
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        await requester.request("web")
        await stage.until_active(BACKUP)
        await stage.clock.sleep(10)
        await requester.withdraw("web")
        await stage.clock.sleep(1)
        await requester.request("web")
        await stage.clock.sleep(60)
        assert diary.lines == ["began", "CANCELLED", "began"]

    on_stage(body)


def test_a_deleted_request_cancels_the_handler() -> None:
    async def body(stage: Stage) -> None:
        diary = Diary()
        await stage.program(Interceptor(BACKUP, diary))
        await stage.pod("web", BACKUP)
        request = await stage.requester().request("web")
        await stage.until_active(BACKUP)
        await stage.clock.sleep(10)
        await stage.world.client.delete(EVICTIONREQUESTS, request.metadata.name, "default")
        await stage.clock.sleep(5)
        assert diary.lines == ["began", "DELETED"]

    on_stage(body)


def test_a_pod_that_ends_by_itself_cancels_the_handler() -> None:
    async def body(stage: Stage) -> None:
        diary = Diary()
        await stage.program(Interceptor(BACKUP, diary))
        await stage.pod("web", BACKUP)
        await stage.requester().request("web")
        await stage.until_active(BACKUP)
        await stage.clock.sleep(10)
        from vacate.api.kinds import PODS

        await stage.world.client.delete(PODS, "web", "default")
        await stage.until(lambda: not stage.find_pod("web"))
        await stage.clock.sleep(5)
        assert diary.lines in (["began", "POD_ENDED"], ["began", "DELETED"])

    on_stage(body)


def test_a_handler_that_hangs_past_its_own_limit_is_no_longer_heartbeaten() -> None:
    async def body(stage: Stage) -> None:
        diary = Diary()
        within = dt.timedelta(minutes=5)
        await stage.program(Interceptor(BACKUP, diary, progress_within=within))
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until_active(BACKUP)
        began = stage.clock.monotonic()
        await stage.until_active(CACHE)
        passed = stage.clock.monotonic() - began
        assert 600 < passed < 300 + 600 + 60  # the last heartbeat before the limit, and one deadline
        await stage.clock.sleep(1)
        assert diary.lines == ["began", "TAKEN_AWAY"]
        (event,) = stage.events("InterceptorStalled")
        assert "no progress for 0:05:00" in event["message"]

    on_stage(body)


def test_progress_keeps_the_heartbeat_going() -> None:
    async def body(stage: Stage) -> None:
        async def steady(leave: EvictionContext) -> None:
            for _ in range(20):
                await leave.clock.sleep(120)
                leave.progress()

        one = Interceptor(BACKUP, steady, progress_within=dt.timedelta(minutes=5))
        await stage.program(one)
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until_active(BACKUP)
        began = stage.clock.monotonic()
        await stage.until_active(CACHE)
        assert 2399 < stage.clock.monotonic() - began < 2410
        assert not stage.events("InterceptorStalled")

    on_stage(body)


def test_a_handler_that_raises_is_called_again_and_then_gives_up() -> None:
    async def body(stage: Stage) -> None:
        attempts: list[int] = []

        async def fails(leave: EvictionContext) -> None:
            attempts.append(leave.attempt)
            raise OSError("the backup server is away")

        await stage.program(Interceptor(BACKUP, fails, attempts=3))
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until_active(BACKUP)
        began = stage.clock.monotonic()
        await stage.until_active(CACHE)
        assert attempts == [1, 2, 3]
        assert 29 < stage.clock.monotonic() - began < 40  # pauses of 10 and 20 seconds
        messages = [dig(one, "status", "message") for one in writes(stage.world, EVICTIONREQUESTS.resource)]
        assert "Attempt 1 of 3 failed: the backup server is away. Attempt 2 starts in 10 s." in messages
        assert f"{BACKUP} failed: the backup server is away (after 3 attempts)" in messages
        assert len(stage.events("InterceptorAttemptFailed")) == 3
        (turn,) = past_turns(stage.request)
        assert (turn.result, turn.message) == (
            TurnResult.FAILED,
            "the backup server is away (after 3 attempts)",
        )
        await stage.until(lambda: len(stage.events("InterceptorFailed")) == 2)
        about = {one["involvedObject"]["kind"]: one["type"] for one in stage.events("InterceptorFailed")}
        assert about == {"EvictionRequest": "Warning", "Pod": "Warning"}

    on_stage(body)


def test_a_failure_is_no_progress() -> None:
    async def body(stage: Stage) -> None:
        async def fails(leave: EvictionContext) -> None:
            raise OSError("no")

        await stage.program(Interceptor(BACKUP, fails, attempts=2))
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web")
        await stage.until_active(CACHE)
        states = writes(stage.world, EVICTIONREQUESTS.resource)
        mine = [one["status"] for one in states if dig(one, "status", "activeInterceptorName") == BACKUP]
        beats = [one["heartbeatTime"] for one in mine]
        assert len(set(beats)) == 2  # the assignment's and the one that took it on

    on_stage(body)


def test_a_handler_that_recovers_goes_on() -> None:
    async def body(stage: Stage) -> None:
        async def recovers(leave: EvictionContext) -> None:
            if leave.attempt < 3:
                raise RuntimeError("not yet")

        await stage.program(Interceptor(BACKUP, recovers))
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        request = await requester.request("web")
        result = await requester.wait(request)
        assert result.pod_gone
        assert result.history[0].result is TurnResult.COMPLETED
        assert result.failures == ()
        states = writes(stage.world, EVICTIONREQUESTS.resource)
        failure = next(one for one in states[-1]["status"]["conditions"] if one["type"] == f"{BACKUP}/Failed")
        assert (failure["status"], failure["reason"]) == ("False", "Recovered")

    on_stage(body)


def test_a_handler_that_declines_is_not_called_completed() -> None:
    async def body(stage: Stage) -> None:
        async def declines(context: EvictionContext) -> Declined:
            return context.declined("it has no data")

        await stage.program(Interceptor(BACKUP, declines))
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        result = await requester.wait(await requester.request("web"))
        (turn,) = result.history
        assert (turn.result, turn.message) == (TurnResult.DECLINED, "it has no data")
        assert result.failures == ()

    on_stage(body)


def test_the_last_interceptor_fails_and_the_requester_learns_of_it() -> None:
    async def body(stage: Stage) -> None:
        async def fails(context: EvictionContext) -> None:
            raise KeyError("volume")

        await stage.program(Interceptor(BACKUP, fails, attempts=1))
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        result = await requester.wait(await requester.request("web"))
        assert result.pod_gone
        (turn,) = result.failures
        assert (turn.result, turn.message) == (TurnResult.FAILED, "KeyError: 'volume' (after 1 attempt)")

    on_stage(body)


def test_a_failed_turn_can_be_held_until_an_administrator_decides() -> None:
    async def body(stage: Stage) -> None:
        calls: list[bool] = []

        async def fails(context: EvictionContext) -> None:
            calls.append(context.resumed)
            raise OSError("the backup server is away")

        held = Interceptor(BACKUP, fails, attempts=1, on_failure=OnFailure.HOLD)
        process = await stage.program(held)
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until_active(BACKUP)
        await stage.clock.sleep(3 * 3600)
        assert stage.request.status.active_interceptor_name == BACKUP
        assert is_held(stage.request, BACKUP)
        assert calls == [False]
        await process.crash()
        await process.start()
        await stage.clock.sleep(5)
        assert calls == [False, True]  # a restart tries again
        done = {"status": {"activeInterceptorCompleted": True}}
        name = stage.request.metadata.name
        await stage.world.client.patch(EVICTIONREQUESTS, name, done, "default", subresource="status")
        await stage.until_active(CACHE)
        assert [turn.result for turn in past_turns(stage.request)] == [TurnResult.FAILED]
        await process.stop()

    on_stage(body)


def test_a_held_turn_ends_with_the_total_time_of_a_request() -> None:
    async def body(stage: Stage) -> None:
        async def fails(context: EvictionContext) -> None:
            raise OSError("the backup server is away")

        await stage.program(Interceptor(BACKUP, fails, attempts=1, on_failure=OnFailure.HOLD))
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until_active(BACKUP)
        await stage.clock.sleep(3 * 3600)
        assert is_held(stage.request, BACKUP)
        began = stage.clock.monotonic()
        await stage.until_complete()
        assert stage.clock.monotonic() - began < 3600 + 600
        (event,) = stage.events("LimitReached")
        assert "total time" in event["message"]

    on_stage(body, limits=Limits(duration=dt.timedelta(hours=4)))


def test_a_handler_that_hangs_without_a_word_loses_its_turn_by_default(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(stage: Stage) -> None:
        async def hangs(context: EvictionContext) -> None:
            await asyncio.Event().wait()

        await stage.program(Interceptor(BACKUP, hangs))
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until_active(BACKUP)
        began = stage.clock.monotonic()
        await stage.until_active(CACHE)
        assert 3600 < stage.clock.monotonic() - began < 3600 + 600 + 60
        await stage.clock.sleep(1)
        assert stage.events("InterceptorStalled")

    on_stage(body)
    assert "pod default/web: the turn is over: another interceptor has the turn" in caplog.text


def test_a_handler_may_be_silent_until_the_finish_that_it_expects() -> None:
    async def body(stage: Stage) -> None:
        async def copies(context: EvictionContext) -> None:
            await context.report("Copying", expected_finish=dt.timedelta(hours=5))
            await context.clock.sleep(5 * 3600 - 60)
            await context.report(expected_finish=NO_ESTIMATE)
            await context.clock.sleep(60)

        await stage.program(Interceptor(BACKUP, copies))
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until_active(BACKUP)
        await stage.clock.sleep(5 * 3600 - 120)
        estimates = [stage.request.status.expected_interceptor_finish_time]
        await stage.clock.sleep(100)
        estimates.append(stage.request.status.expected_interceptor_finish_time)
        assert [one is None for one in estimates] == [False, True]
        await stage.until(lambda: stage.request.status.active_interceptor_name == CACHE, 300)
        assert [turn.result for turn in past_turns(stage.request)] == [TurnResult.COMPLETED]
        assert not stage.events("InterceptorStalled")

    on_stage(body)


def test_after_a_crash_the_handler_is_called_again_as_a_resumption() -> None:
    async def body(stage: Stage) -> None:
        diary = Diary()
        process = await stage.program(Interceptor(BACKUP, diary))
        await stage.pod("web", BACKUP)
        await stage.requester().request("web")
        await stage.until_active(BACKUP)
        await stage.clock.sleep(10)
        await process.crash()
        assert not stage.request.status.active_interceptor_completed
        await process.start()
        await stage.clock.sleep(5)
        assert diary.lines == ["began", "SHUTDOWN", "resumed"]

    on_stage(body)


def test_a_clean_stop_keeps_the_turn_and_writes_nothing() -> None:
    async def body(stage: Stage) -> None:
        diary = Diary(clean_up=3)
        process = await stage.program(Interceptor(BACKUP, diary))
        await stage.pod("web", BACKUP)
        await stage.requester().request("web")
        await stage.until_active(BACKUP)
        await stage.clock.sleep(10)
        before = stage.request.metadata.resource_version
        await process.stop()
        assert diary.lines == ["began", "SHUTDOWN"]
        assert stage.request.metadata.resource_version == before
        assert stage.request.status.active_interceptor_name == BACKUP

    on_stage(body)


def test_a_handler_that_ignores_its_cancellation_is_left_alone() -> None:
    async def body(stage: Stage) -> None:
        let_go = asyncio.Event()

        async def stubborn(leave: EvictionContext) -> None:
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue

        process = await stage.program(Interceptor(BACKUP, stubborn, concurrency=1))
        await stage.pod("web", BACKUP)
        await stage.pod("other", BACKUP)
        requester = stage.requester()
        await requester.request("web")
        await stage.until_active(BACKUP)
        await stage.clock.sleep(5)
        await requester.withdraw("web")
        await stage.clock.sleep(40)
        other = await requester.request("other")  # its place is free again
        await stage.until(lambda: dig_heartbeat(stage, other.metadata.name))
        let_go.set()
        await process.stop()

    on_stage(body)


def dig_heartbeat(stage: Stage, name: str) -> object:
    (found,) = [one for one in stage.requests() if one.metadata.name == name]
    began = next((c for c in found.status.conditions if c.type == "InterceptorAssigned"), None)
    return began is not None and found.status.heartbeat_time != began.last_transition_time


def test_what_the_contract_forbids_is_refused_before_it_is_written() -> None:
    async def body(stage: Stage) -> None:
        faults: list[str] = []
        tried = asyncio.Event()

        async def tries(leave: EvictionContext) -> None:
            for act in (
                leave.report(conditions=[Condition("Complete", True, "Done")]),
                leave.report(conditions=[Condition("Mine", "Perhaps", "Done")]),
                leave.report(conditions=[Condition("Mine", True, "")]),
                leave.report(conditions=[Condition(f"Mine{n}", True, "Many") for n in range(97)]),
                leave.report(expected_finish=dt.datetime(2026, 1, 1)),  # noqa: DTZ001
            ):
                with pytest.raises(ContractError) as caught:
                    await act
                faults.append(str(caught.value))
            await leave.report(expected_finish=dt.datetime(2025, 1, 1, tzinfo=dt.UTC))  # the past is fine
            with pytest.raises(ContractError, match="Perhaps"):
                await leave.report(cancellation="Perhaps")
            tried.set()
            await leave.clock.sleep(3600)

        await stage.program(Interceptor(BACKUP, tries))
        await stage.pod("web", BACKUP)
        await stage.requester().request("web")
        await tried.wait()
        assert faults == [
            "condition Complete is the controller's; choose another type",
            "condition Mine: status 'Perhaps' is none of True, False, Unknown",
            "a condition needs a type and a reason",
            "there would be 97 conditions beside the controller's, of at most 96",
            "expected_finish: 2026-01-01 00:00:00 has no time zone; give it one, UTC for example",
        ]

    on_stage(body)


def test_nothing_is_written_after_the_turn_is_over() -> None:
    async def body(stage: Stage) -> None:
        caught: list[TurnEndReason] = []

        async def late(leave: EvictionContext) -> None:
            try:
                await leave.clock.sleep(3600)
            finally:
                try:
                    await leave.report("too late", cancellation=Cancellation.ALLOW)
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

    on_stage(body)


def test_forbid_holds_requesters_and_allow_lets_them_go() -> None:
    async def body(stage: Stage) -> None:
        go_on = asyncio.Event()

        async def atomic(leave: EvictionContext) -> None:
            await leave.report("In the middle of it", cancellation=Cancellation.FORBID)
            assert leave.request.forbids_cancellation  # written when it returns
            await go_on.wait()
            await leave.report(cancellation="Allow")
            await leave.clock.sleep(3600)

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

    on_stage(body)


def test_an_interceptor_may_set_the_policy_as_it_takes_the_turn_on() -> None:
    async def body(stage: Stage) -> None:
        async def waits(leave: EvictionContext) -> None:
            assert leave.request.forbids_cancellation
            await leave.clock.sleep(3600)

        await stage.program(Interceptor(BACKUP, waits, cancellation=Cancellation.FORBID))
        await stage.pod("web", BACKUP)
        await stage.requester().request("web")
        await stage.until(lambda: stage.request.forbids_cancellation)
        states = writes(stage.world, EVICTIONREQUESTS.resource)
        assert len(states) == 3  # created, assigned, taken on

    on_stage(body)


@pytest.mark.parametrize("skew", [-9.0, 9.0])
def test_clocks_that_differ(skew: float) -> None:
    async def body(stage: Stage) -> None:
        async def works(leave: EvictionContext) -> None:
            await leave.clock.sleep(1000)

        clock = stage.world.sim.skewed_clock(skew)
        await stage.program(Interceptor(BACKUP, works), clock=clock)
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        request = await requester.request("web", deadline_seconds=600)
        result = await requester.wait(request)
        assert result.history[0].result.value == "completed"
        assert result.pod_gone

    on_stage(body)


def test_a_clock_that_is_too_far_ahead_is_told_and_the_turn_passes_on() -> None:
    async def body(stage: Stage) -> None:
        diary = Diary()
        await stage.program(Interceptor(BACKUP, diary), clock=stage.world.sim.skewed_clock(30))
        await stage.pod("web", CACHE, BACKUP)
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until_active(CACHE)
        assert not diary.lines
        (event,) = stage.events("InterceptorRefused")[:1]
        assert "may not be more than 10 seconds in the future" in event["message"]

    on_stage(body)


def test_over_a_bad_network(sim_seed: int) -> None:
    async def body(stage: Stage) -> None:
        async def works(leave: EvictionContext) -> None:
            for part in range(20):
                await leave.report(f"{part}", conditions=[Condition("Part", True, f"Part{part}")])
                await leave.clock.sleep(60)
            await leave.evict()

        def bad(link: Transport) -> Transport:
            chances = Chances(delay=0.5, lost=0.1, unanswered=0.1, refused=0.1, cut=0.2, repeat=0.1)
            return FaultyTransport(link, RandomPlan(chances, stage.world.sim.stream("bad")), stage.clock)

        await stage.program(Interceptor(BACKUP, works, attempts=1), through=bad)
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        request = await requester.request("web", deadline_seconds=600)
        result = await requester.wait(request)
        assert result.pod_gone
        assert not stage.events("InterceptorFailed")

    on_stage(body, sim_seed)
