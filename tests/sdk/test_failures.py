"""Handlers that raise or decline: called again, recorded as what they are, and held where that is wanted."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import dig
from vacate.errors import Invalid
from vacate.eviction.dialects.turn_conditions import is_held, past_turns
from vacate.eviction.model import Limits
from vacate.sdk import (
    Declined,
    EvictionContext,
    Interceptor,
    OnFailure,
    TurnResult,
)
from vacate.sdk.interceptors.statuswriter import StatusWriter
from vacate.sdk.interceptors.turnrunner import retry_pause
from vacate.testing import ONE_NODE, SimulatedCluster, simulate

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

BACKUP, CACHE = "backup.example.com", "cache.example.com"


def test_a_handler_that_raises_is_called_again_and_then_gives_up() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        attempts: list[int] = []

        async def fails(context: EvictionContext) -> None:
            attempts.append(context.attempt)
            raise OSError("the backup server is away")

        await cluster.program(Interceptor(BACKUP, fails, attempts=3))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        began = cluster.clock.monotonic()
        await cluster.until_active(CACHE)
        assert attempts == [1, 2, 3]
        assert 29 < cluster.clock.monotonic() - began < 40  # pauses of 10 and 20 seconds
        messages = [dig(one, "status", "message") for one in cluster.states(EVICTIONREQUESTS)]
        assert "Attempt 1 of 3 failed: the backup server is away. Attempt 2 starts in 10 s." in messages
        assert f"{BACKUP} failed: the backup server is away (after 3 attempts)" in messages
        assert len(cluster.events("InterceptorAttemptFailed")) == 3
        (turn,) = past_turns(cluster.request)
        assert (turn.result, turn.message) == (
            TurnResult.FAILED,
            "the backup server is away (after 3 attempts)",
        )
        await cluster.until(lambda: len(cluster.events("InterceptorFailed")) == 2)
        about = {one["involvedObject"]["kind"]: one["type"] for one in cluster.events("InterceptorFailed")}
        assert about == {"EvictionRequest": "Warning", "Pod": "Warning"}

    simulate(body)


def test_a_failure_is_no_progress() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def fails(context: EvictionContext) -> None:
            raise OSError("no")

        await cluster.program(Interceptor(BACKUP, fails, attempts=2))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web")
        await cluster.until_active(CACHE)
        states = cluster.states(EVICTIONREQUESTS)
        mine = [one["status"] for one in states if dig(one, "status", "activeInterceptorName") == BACKUP]
        beats = [one["heartbeatTime"] for one in mine]
        assert len(set(beats)) == 2  # the assignment's and the one that took it on

    simulate(body)


@pytest.mark.thorough
def test_a_handler_that_recovers_goes_on() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def recovers(context: EvictionContext) -> None:
            if context.attempt < 3:
                raise RuntimeError("not yet")

        await cluster.program(Interceptor(BACKUP, recovers))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        request = await requester.request("web")
        result = await requester.wait(request)
        assert result.pod_ended
        assert result.history[0].result is TurnResult.COMPLETED
        assert result.failures == ()
        states = cluster.states(EVICTIONREQUESTS)
        failure = next(one for one in states[-1]["status"]["conditions"] if one["type"] == f"{BACKUP}/Failed")
        assert (failure["status"], failure["reason"]) == ("False", "Recovered")

    simulate(body)


def test_a_handler_that_declines_is_not_called_completed() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def declines(context: EvictionContext) -> Declined:
            return context.declined("it has no data")

        await cluster.program(Interceptor(BACKUP, declines))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        result = await requester.wait(await requester.request("web"))
        (turn,) = result.history
        assert (turn.result, turn.message) == (TurnResult.DECLINED, "it has no data")
        assert result.failures == ()

    simulate(body)


def test_the_last_interceptor_fails_and_the_requester_learns_of_it() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def fails(context: EvictionContext) -> None:
            raise KeyError("volume")

        await cluster.program(Interceptor(BACKUP, fails, attempts=1))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        result = await requester.wait(await requester.request("web"))
        assert result.pod_ended
        (turn,) = result.failures
        assert (turn.result, turn.message) == (TurnResult.FAILED, "KeyError: 'volume' (after 1 attempt)")

    simulate(body)


def test_a_failed_turn_can_be_held_until_an_administrator_decides() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        calls: list[bool] = []

        async def fails(context: EvictionContext) -> None:
            calls.append(context.resumed)
            raise OSError("the backup server is away")

        held = Interceptor(BACKUP, fails, attempts=1, on_failure=OnFailure.HOLD)
        process = await cluster.program(held)
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(60)
        warnings = [one for one in cluster.events("InterceptorHeld") if one["type"] == "Warning"]
        assert {one["involvedObject"]["kind"] for one in warnings} == {"EvictionRequest", "Pod"}
        await cluster.clock.sleep(3 * 3600)
        assert cluster.request.status.active_interceptor_name == BACKUP
        assert is_held(cluster.request, BACKUP)
        assert calls == [False]
        await process.crash()
        await process.start()
        await cluster.clock.sleep(5)
        assert calls == [False, True]  # a restart tries again
        done = {"status": {"activeInterceptorCompleted": True}}
        name = cluster.request.metadata.name
        await cluster.client.patch(EVICTIONREQUESTS, name, done, "default", subresource="status")
        await cluster.until_active(CACHE)
        assert [turn.result for turn in past_turns(cluster.request)] == [TurnResult.FAILED]
        await process.stop()

    simulate(body)


@pytest.mark.parametrize("verb", ["beat", "note"])
def test_a_report_that_is_refused_once_lets_go_of_no_held_turn(
    monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """As where the clock of this program is ahead for a moment."""

    async def body(cluster: SimulatedCluster) -> None:
        async def fails(context: EvictionContext) -> None:
            raise OSError("the backup server is away")

        refusals = [Invalid("status.heartbeatTime: Invalid value: it is in the future")]
        if verb == "note":
            refuse(monkeypatch, verb, refusals)
        await cluster.program(Interceptor(BACKUP, fails, attempts=1, on_failure=OnFailure.HOLD))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(300)
        if verb == "beat":
            refuse(monkeypatch, verb, refusals)
        await cluster.clock.sleep(3600)
        assert refusals == []
        assert cluster.request.status.active_interceptor_name == BACKUP

    simulate(body)


def test_a_report_that_is_refused_costs_no_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        attempts: list[int] = []

        async def fails(context: EvictionContext) -> None:
            attempts.append(context.attempt)
            raise OSError("the backup server is away")

        refuse(monkeypatch, "note", [Invalid("status.conditions: Invalid value: in the future")])
        await cluster.program(Interceptor(BACKUP, fails, attempts=3))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(CACHE)
        assert attempts == [1, 2, 3]

    simulate(body)


def test_a_completion_that_is_refused_is_written_a_minute_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        calls: list[int] = []

        async def works(context: EvictionContext) -> None:
            calls.append(context.attempt)

        refuse(monkeypatch, "complete", [Invalid("status: Invalid value: a webhook is not well")])
        await cluster.program(Interceptor(BACKUP, works))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=3600)
        await cluster.until_active(BACKUP)
        began = cluster.clock.monotonic()
        await cluster.until_active(CACHE)
        assert cluster.clock.monotonic() - began < 90
        assert calls == [1]
        assert [turn.result for turn in past_turns(cluster.request)] == [TurnResult.COMPLETED]

    simulate(body)


def test_a_completion_that_is_always_refused_ends_with_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that a turn cannot be handed over are no heartbeats: the next interceptor gets its turn."""

    async def body(cluster: SimulatedCluster) -> None:
        async def works(_: EvictionContext) -> None:
            pass

        refuse(monkeypatch, "complete", [Invalid("status: Invalid value: refused")] * 1000)
        await cluster.program(Interceptor(BACKUP, works))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        began = cluster.clock.monotonic()
        await cluster.until_active(CACHE)
        assert 600 <= cluster.clock.monotonic() - began < 1200
        assert [turn.result for turn in past_turns(cluster.request)] == [TurnResult.TIMED_OUT]

    simulate(body)


def refuse(monkeypatch: pytest.MonkeyPatch, verb: str, refusals: list[Invalid]) -> None:
    written = getattr(StatusWriter, verb)

    async def write(self: StatusWriter, *args: Any) -> None:
        if refusals:
            raise refusals.pop()
        await written(self, *args)

    monkeypatch.setattr(StatusWriter, verb, write)


@pytest.mark.thorough
def test_a_held_turn_ends_with_the_total_time_of_a_request() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def fails(context: EvictionContext) -> None:
            raise OSError("the backup server is away")

        await cluster.program(Interceptor(BACKUP, fails, attempts=1, on_failure=OnFailure.HOLD))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(3 * 3600)
        assert is_held(cluster.request, BACKUP)
        began = cluster.clock.monotonic()
        await cluster.until_complete()
        assert cluster.clock.monotonic() - began < 3600 + 600
        noted = cluster.events("LimitReached")
        assert sorted(one["involvedObject"]["kind"] for one in noted) == ["EvictionRequest", "Pod"]
        assert all("total time" in one["message"] for one in noted)

    simulate(body, settings=replace(ONE_NODE, limits=Limits(duration=dt.timedelta(hours=4))))


def test_any_number_of_attempts_has_a_pause() -> None:
    assert [retry_pause(attempt) for attempt in (1, 2, 5, 6, 10**9)] == [10, 20, 160, 300, 300]
