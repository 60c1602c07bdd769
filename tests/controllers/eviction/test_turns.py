"""Interceptors, driven by plain patches: whose turn it is, until when, and who is next."""

from __future__ import annotations

import datetime as dt

import pytest

from support.simulated.evictions import (
    DRAIN,
    A,
    B,
    C,
    active,
    as_interceptor,
    completed,
    condition_of,
    ended,
    events_of,
    evictions_heard,
    failed,
    finish,
    found,
    heard,
    heartbeat,
    on_simulated_cluster,
    put_past_admission,
    requested,
    stage,
    status,
    turns,
)
from vacate.api.kinds import EVENTS, EVICTIONREQUESTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.times import parse_time
from vacate.client.requests import STRATEGIC_PATCH
from vacate.sim.cluster import World
from vacate.testing import pdb

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]


async def guarded(world: World, *interceptors: str, seconds: int = 1800) -> str:
    """A request for a running pod whose budget nobody counts: its eviction is refused."""
    await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
    name = await requested(world, *interceptors, seconds=seconds, labels={"app": "web"})
    change = {"status": {"phase": "Running"}}
    await world.client.patch(PODS, "p", change, "default", patch_type=STRATEGIC_PATCH, subresource="status")
    return name


def test_the_last_of_the_list_is_asked_first_and_after_all_are_done_the_pod_is_evicted() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B, C)
        for expected in (C, B, A):
            await world.until(lambda who=expected: active(world, name) == who)  # type: ignore[misc]
            assert stage(world, name) == "Intercepting"
            assert evictions_heard(world) == 0
            await as_interceptor(world, name, expectedInterceptorFinishTime="2027-01-01T00:00:00Z")
            await heartbeat(world, name, message=f"{expected} works")
            await finish(world, name)
        assert await completed(world, name) == "PodDeleted"
        assert turns(world, name) == [C, B, A]
        assert active(world, name) == ""
        assert "expectedInterceptorFinishTime" not in status(world, name)
        assert evictions_heard(world) == 1
        lines = condition_of(found(world, name), "InterceptorAssigned", "message").splitlines()
        assert [(line.split()[0], line.split()[2]) for line in lines] == [
            (C, "completed"), (B, "completed"), (A, "completed"),
        ]  # fmt: skip

    on_simulated_cluster(body)


def test_an_assignment_resets_what_the_one_before_had_written() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B)
        await world.until(lambda: active(world, name) == B)
        first = status(world, name)
        assert first["heartbeatTime"] == condition_of(
            found(world, name), "InterceptorAssigned", "lastTransitionTime"
        )
        await heartbeat(
            world, name, message="halfway", expectedInterceptorFinishTime="2027-01-01T00:00:00Z",
            conditions=[
                *first["conditions"],
                {"type": "Saved", "status": "True", "reason": "Done", "message": "",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"},
            ],
        )  # fmt: skip
        await finish(world, name)
        await world.until(lambda: active(world, name) == A)
        second = status(world, name)
        assert second.get("activeInterceptorCompleted", False) is False
        assert "expectedInterceptorFinishTime" not in second
        assert second["message"] == f"{B} has completed. Interceptor {A} is active."
        assert parse_time(second["heartbeatTime"]) > parse_time(first["heartbeatTime"])
        assert condition_of(found(world, name), "Saved") == "True"

    on_simulated_cluster(body)


def test_silence_beyond_the_deadline_passes_the_turn_on() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B, seconds=600)
        await world.until(lambda: active(world, name) == B)
        began = world.sim.clock.now()
        await world.until(lambda: active(world, name) == A, timeout=700)
        assert dt.timedelta(seconds=599) < world.sim.clock.now() - began < dt.timedelta(seconds=602)
        await world.sim.clock.sleep(1)
        [message] = events_of(world, name, "InterceptorTimedOut")
        assert message.startswith(f"{B} timed out: it never responded within 600 s.")
        await world.until(lambda: evictions_heard(world), timeout=700)
        assert dt.timedelta(seconds=1199) < world.sim.clock.now() - began < dt.timedelta(seconds=1205)
        assert await completed(world, name) == "PodDeleted"
        fates = condition_of(found(world, name), "InterceptorAssigned", "message").splitlines()
        assert [line.split()[2] for line in fates] == ["never-responded", "never-responded"]

    on_simulated_cluster(body)


@pytest.mark.parametrize(
    ("outcome", "kind", "reason", "words"),
    [
        (None, "Warning", "InterceptorTimedOut", "timed out: no heartbeat for 600 s: halfway."),
        ({}, "Normal", "InterceptorCompleted", "has completed: halfway."),
        ({"Failed": "the disk is full"}, "Warning", "InterceptorFailed", "failed: the disk is full."),
        ({"Declined": "it has no data"}, "Normal", "InterceptorDeclined", "has declined: it has no data."),
    ],
    ids=["timed out", "completed", "failed", "declined"],
)
def test_the_end_of_the_last_turn_is_an_event_of_request_and_pod(
    outcome: dict[str, str] | None, kind: str, reason: str, words: str
) -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, seconds=600)
        await world.until(lambda: active(world, name) == A)
        await heartbeat(world, name, message="halfway")
        if outcome is not None:
            own = [
                {"type": f"{A}/{word}", "status": "True", "reason": "HandedOver", "message": why,
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}
                for word, why in outcome.items()
            ]  # fmt: skip
            await heartbeat(world, name, conditions=[*status(world, name)["conditions"], *own])
            await finish(world, name)
        await world.until(lambda: evictions_heard(world), timeout=700)
        await world.until(lambda: len(events_by_kind(world, reason)) == 2)
        on_request, on_pod = (events_by_kind(world, reason)[about] for about in ("EvictionRequest", "Pod"))
        assert on_request == on_pod == (kind, on_pod[1])
        assert on_pod[1].startswith(f"{A} {words}")
        assert ("unprepared" in on_pod[1]) is (kind == "Warning")
        _, first = events_by_kind(world, "EvictionRequested")["Pod"]
        assert first.startswith(f"Eviction requested by {DRAIN}.")

    on_simulated_cluster(body)


def events_by_kind(world: World, reason: str) -> dict[str, tuple[str, str]]:
    """Type and message of the events of a reason, by the kind that they are about."""
    return {
        one["involvedObject"]["kind"]: (one["type"], one["message"])
        for one in world.objects(EVENTS)
        if one["reason"] == reason
    }


def test_an_interceptor_that_reports_keeps_its_turn_for_as_long_as_it_likes() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B, seconds=600)
        await world.until(lambda: active(world, name) == B)
        for _ in range(20):
            await world.sim.clock.sleep(500)
            await heartbeat(world, name)
        assert turns(world, name) == [B]
        assert evictions_heard(world) == 0
        await world.until(lambda: active(world, name) == A, timeout=700)

    on_simulated_cluster(body)


def test_an_interceptor_that_ends_the_pod_itself_completes_the_request() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B)
        await world.until(lambda: active(world, name) == B)
        await heartbeat(world, name)
        await world.client.delete(PODS, "p", "default")
        assert await completed(world, name) == "PodDeleted"
        assert turns(world, name) == [B]
        assert evictions_heard(world) == 0

    on_simulated_cluster(body)


def test_a_late_heartbeat_of_the_last_one_stops_eviction_for_one_deadline() -> None:
    async def body(world: World) -> None:
        name = await guarded(world, A, seconds=600)
        await world.until(lambda: failed(world, name) == 2, timeout=900)
        assert stage(world, name) == "Blocked"
        await heartbeat(world, name)
        late = world.sim.clock.now()
        await world.until(lambda: stage(world, name) == "Intercepting")
        before = evictions_heard(world)
        await world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        await world.sim.clock.sleep(590)
        assert evictions_heard(world) == before
        assert failed(world, name) == 2
        assert await completed(world, name) == "PodDeleted"
        assert world.sim.clock.now() - late >= dt.timedelta(seconds=600)

    on_simulated_cluster(body)


def test_a_heartbeat_that_the_cache_has_not_seen_stops_eviction_too() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, seconds=600)
        await world.until(lambda: active(world, name) == A)
        began = parse_time(status(world, name)["heartbeatTime"])
        # The heartbeat is stored just before the deadline, and the news of it arrives just after.
        left = (began + dt.timedelta(seconds=600) - world.sim.clock.now()).total_seconds()
        await world.sim.clock.sleep(left - 0.03)
        reads = heard(world, "get", "evictionrequests")
        await heartbeat(world, name)
        await world.sim.clock.sleep(1)
        assert heard(world, "get", "evictionrequests") == reads + 1
        await world.sim.clock.sleep(590)
        assert evictions_heard(world) == 0
        assert await completed(world, name) == "PodDeleted"

    on_simulated_cluster(body, latency=(0.02, 0.02), disk=(0.0, 0.0))


def test_after_the_last_one_completed_heartbeats_no_longer_stop_eviction() -> None:
    async def body(world: World) -> None:
        name = await guarded(world, A)
        await world.until(lambda: active(world, name) == A)
        await finish(world, name)
        await world.until(lambda: failed(world, name) == 1)
        await heartbeat(world, name)
        await world.until(lambda: failed(world, name) == 2, timeout=30)
        assert stage(world, name) == "Blocked"

    on_simulated_cluster(body)


# Cancellation


async def withdraw(world: World, name: str) -> None:
    await world.client.patch(EVICTIONREQUESTS, name, {"spec": {"requesters": []}}, "default")


def test_an_empty_list_of_requesters_cancels() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A)
        await world.until(lambda: active(world, name) == A)
        await withdraw(world, name)
        assert await completed(world, name) == "Cancelled"
        assert stage(world, name) == "Cancelled"
        assert active(world, name) == ""
        await world.sim.clock.sleep(4000)
        assert evictions_heard(world) == 0
        assert world.find(PODS, "p", "default")

    on_simulated_cluster(body)


def test_forbid_outlives_the_interceptor_and_the_process_goes_on_to_the_end() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B, seconds=600)
        await world.until(lambda: active(world, name) == B)
        await heartbeat(world, name, evictionRequestCancellationPolicy="Forbid")
        await world.until(lambda: active(world, name) == A, timeout=700)
        assert status(world, name)["evictionRequestCancellationPolicy"] == "Forbid"
        assert await completed(world, name, 700) == "PodDeleted"
        assert turns(world, name) == [B, A]

    on_simulated_cluster(body)


def test_a_deleted_request_with_a_finalizer_is_cancelled_and_goes_when_the_finalizer_does() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A)
        await world.until(lambda: active(world, name) == A)
        hold = {"metadata": {"finalizers": ["example.com/hold"]}}
        await world.client.patch(EVICTIONREQUESTS, name, hold, "default")
        await world.client.delete(EVICTIONREQUESTS, name, "default")
        assert await completed(world, name) == "Cancelled"
        await world.client.patch(EVICTIONREQUESTS, name, {"metadata": {"finalizers": None}}, "default")
        await world.until(lambda: world.find(EVICTIONREQUESTS, name, "default") is None)
        assert world.find(PODS, "p", "default")

    on_simulated_cluster(body)


def test_forbid_that_coexists_with_deletion_goes_on_and_allow_cancels() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, seconds=600)
        await world.until(lambda: active(world, name) == A)
        hold = {"metadata": {"finalizers": ["example.com/hold"]}}
        await world.client.patch(EVICTIONREQUESTS, name, hold, "default")
        # Both at once cannot be asked for in this order; a race of two servers could store it.
        await world.evictions.crash()
        request = found(world, name)
        request["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
        request["metadata"]["deletionGracePeriodSeconds"] = 0
        request["status"]["evictionRequestCancellationPolicy"] = "Forbid"
        await put_past_admission(world, request)
        await world.evictions.start()
        await world.sim.clock.sleep(30)
        assert not ended(world, name)
        assert active(world, name) == A
        await as_interceptor(world, name, evictionRequestCancellationPolicy="Allow")
        assert await completed(world, name) == "Cancelled"
        assert DRAIN in str(found(world, name)["spec"]["requesters"])

    on_simulated_cluster(body)
