"""Programs of users in the third API: the handler of the other two, and requesters with their own objects."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools

import pytest

from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.times import parse_time
from vacate.errors import ConfigError
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.lifecycle.requests import own_request_name
from vacate.sdk import (
    EVACUATION,
    EVICTION_REQUEST,
    Cancellation,
    Condition,
    Declined,
    EvictionContext,
    Result,
    TurnResult,
    interceptor,
)
from vacate.testing import SimulatedCluster, SimulatedEviction, pod, simulate, simulate_eviction
from vacate.testing.builders import naming_interceptors

pytestmark = pytest.mark.sim

APIS = ("evictionrequest", "evacuation", "lifecycle")


@interceptor("backup.example.com", label_selector="app=db", apis=APIS)
async def back_up(context: EvictionContext) -> None:
    await context.report("Backing up")
    await asyncio.sleep(45 * 60)


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", [EVICTION_REQUEST, EVACUATION, LIFECYCLE], ids=lambda one: one.name)
def test_one_handler_serves_every_api(dialect: object) -> None:
    """It works for 45 minutes: longer than the deadline, so that its heartbeats are needed."""
    eviction = simulate_eviction(back_up, labels={"app": "db"}, dialect=dialect)  # type: ignore[arg-type]
    assert [one.result for one in eviction.history] == [TurnResult.COMPLETED]
    assert "Backing up" in eviction.messages
    assert eviction.pod_is_gone
    assert eviction.took > dt.timedelta(minutes=45)


@pytest.mark.thorough
def test_pods_are_selected_where_evictions_do_not_have_their_labels() -> None:
    async def body(cluster: SimulatedCluster) -> SimulatedEviction:
        await cluster.program(back_up)
        responder = LIFECYCLE.participant(back_up.name)
        await cluster.run_pod(naming_interceptors(pod("web", labels={"app": "web"}), [responder], LIFECYCLE))
        return await cluster.evict("web", requester=cluster.requester("a.acme.io", dialect=LIFECYCLE))

    gates = "EvictionRequestAPI=true,EvacuationAPI=true,LifecycleAPI=true"
    eviction = simulate(body, feature_gates=gates)
    assert [one.result for one in eviction.history] == [TurnResult.NEVER_RESPONDED]


@interceptor("picky.example.com/check", apis=("lifecycle",))
async def decline(context: EvictionContext) -> Declined:
    return context.declined("nothing to do")


def test_a_turn_that_is_declined_is_handed_over() -> None:
    eviction = simulate_eviction(decline, dialect=LIFECYCLE)
    assert [one.result for one in eviction.history] == [TurnResult.DECLINED]
    assert eviction.pod_is_gone


def test_who_waits_learns_how_the_turns_ended_though_the_eviction_goes_with_the_pod() -> None:
    async def body(cluster: SimulatedCluster) -> tuple[Result, list[Obj]]:
        names = ["silent.example.com/a", decline.name]
        await cluster.program(decline)
        await cluster.run_pod(naming_interceptors(pod("web"), names, LIFECYCLE))
        requester = cluster.requester("a.acme.io", dialect=LIFECYCLE)
        result = await requester.wait(await requester.request("web"))
        await cluster.clock.sleep(60)
        return result, cluster.world.objects(LIFECYCLE_EVICTIONS)

    result, left = simulate(body, feature_gates="LifecycleAPI=true")
    assert result.pod_ended
    assert [(one.interceptor, one.result) for one in result.history] == [
        ("silent.example.com/a", TurnResult.NEVER_RESPONDED),
        (decline.name, TurnResult.DECLINED),
    ]
    assert [one.interceptor for one in result.failures] == ["silent.example.com/a"]
    assert left == []


@interceptor("next.example.com/backup", apis=("lifecycle",))
async def report_often(context: EvictionContext) -> None:
    for number in range(40):
        step = Condition("next.example.com/Step", True, f"Step{number}")
        await context.report(f"step {number}", conditions=[step])  # others act upon it: it is written at once
        await asyncio.sleep(7)


def test_the_next_one_works_and_its_heartbeats_are_not_more_often_than_every_twenty_seconds() -> None:
    async def body(cluster: SimulatedCluster) -> tuple[SimulatedEviction, list[dt.datetime]]:
        await cluster.program(decline, report_often)
        names = [decline.name, report_often.name]
        await cluster.run_pod(naming_interceptors(pod("web"), names, LIFECYCLE))
        eviction = await cluster.evict("web", requester=cluster.requester("a.acme.io", dialect=LIFECYCLE))
        seen = [
            parse_time(record["heartbeatTime"])
            for state in cluster.states(LIFECYCLE_EVICTIONS)
            for record in state.get("status", {}).get("responders", ())
            if record["name"] == report_often.name and "heartbeatTime" in record
        ]
        return eviction, sorted(set(seen))

    eviction, beats = simulate(body, feature_gates="LifecycleAPI=true")
    assert [(one.interceptor, one.result) for one in eviction.history] == [
        (decline.name, TurnResult.DECLINED),
        (report_often.name, TurnResult.COMPLETED),
    ]
    assert "step 39" in eviction.messages
    assert len(beats) > 5
    pauses = [later - earlier for earlier, later in itertools.pairwise(beats)]
    assert min(pauses) >= dt.timedelta(seconds=20)


@pytest.mark.thorough
def test_a_request_is_cancelled_and_made_again() -> None:
    eviction = simulate_eviction(
        back_up, labels={"app": "db"}, dialect=LIFECYCLE, cancel_after=dt.timedelta(minutes=1)
    )
    assert [one.result for one in eviction.history] == [TurnResult.CANCELLED]
    assert not eviction.pod_is_gone

    async def body(cluster: SimulatedCluster) -> None:
        await cluster.run_pod(pod("web"))
        first, second = (cluster.requester(f"{name}.acme.io", dialect=LIFECYCLE) for name in ("a", "b"))
        assert (first.name, second.name) == ("acme.io/a", "acme.io/b")
        # Both have objects of their own, and withdraw without each other.
        await first.request("web")
        request = await second.request("web")
        assert await first.withdraw("web")
        assert not await first.withdraw("web")
        result = await second.wait(request)
        assert result.pod_ended

    simulate(body, feature_gates="LifecycleAPI=true")


def test_a_request_whose_name_is_taken_is_named_and_not_changed() -> None:
    """Whoever may create requests there chooses their names."""

    async def body(cluster: SimulatedCluster) -> tuple[str, list[Obj]]:
        await cluster.run_pod(pod("web"))
        first = cluster.requester("acme.io/a", dialect=LIFECYCLE)
        made = dict(await cluster.client.get(PODS, "web", "default"))
        name = own_request_name(made["metadata"]["uid"], first.name)
        target = {"pod": {"name": "web", "uid": "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"}}
        taken = {"target": target, "requester": "evil.io/x", "intent": "Withdrawn"}
        await cluster.client.create(
            LIFECYCLE_REQUESTS, {"metadata": {"name": name}, "spec": taken}, "default"
        )
        with pytest.raises(ConfigError) as refused:
            await first.request("web")
        return str(refused.value), cluster.world.objects(LIFECYCLE_REQUESTS)

    why, (left,) = simulate(body, feature_gates="LifecycleAPI=true")
    assert left["metadata"]["name"] in why
    assert "is that of requester evil.io/x" in why
    assert left["spec"]["intent"] == "Withdrawn"


def test_what_the_api_cannot_say_is_refused() -> None:
    with pytest.raises(ConfigError, match="cancellation cannot be forbidden by the API lifecycle"):
        interceptor("x.example.com", apis=APIS, cancellation=Cancellation.FORBID)(decline.handler)
    with pytest.raises(ConfigError, match="20 minutes: leave it out"):
        simulate_eviction(decline, dialect=LIFECYCLE, deadline_seconds=600)
