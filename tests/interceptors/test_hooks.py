"""Pods whose hooks are called before they are evicted, on the embedded cluster in virtual time."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from support.simulated.hooks import service_of, serving
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.times import format_time
from vacate.api.types.evictionrequest import SHUTDOWN_DEADLINE
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import recorded_stage
from vacate.features import parse_feature_gates
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, ON_FAILURE, TARGET, TIMEOUT
from vacate.sdk import EVACUATION, TurnResult
from vacate.testing import ONE_NODE, SimulatedCluster, simulate

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

FAILED = f"{HOOKS_INTERCEPTOR}/Failed"
OPEN = "EvacuationAPI=true"


async def hooked(cluster: SimulatedCluster, name: str = "db", **annotations: str) -> None:
    given = {TARGET: "flush", **{key.replace("_", "-"): value for key, value in annotations.items()}}
    await cluster.pod(name, HOOKS_INTERCEPTOR, metadata={"annotations": given})


def test_a_pod_is_evicted_when_its_hook_is_done() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world)
        await serving(cluster.world, service)
        await hooked(cluster)
        eviction = await cluster.evict("db")
        (work,) = service.works.values()
        assert (work.pod, work.answered, work.cancelled) == ("db", True, False)
        assert [(turn.interceptor, turn.result) for turn in eviction.history] == [
            (HOOKS_INTERCEPTOR, TurnResult.COMPLETED)
        ]
        assert FAILED not in eviction.conditions
        assert "Hook flush: flushing (0 %)" in eviction.messages
        assert "Hook flush: flushed" in eviction.messages

    simulate(body)


@pytest.mark.thorough
def test_calls_and_hooks_are_counted() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world)
        await serving(cluster.world, service)
        for name in ("db", "other", "third"):
            await hooked(cluster, name)
        await asyncio.gather(cluster.evict("db"), cluster.evict("other"))
        service.status = 403
        await cluster.evict("third")
        value = cluster.world.server.metrics.registry.get_sample_value
        answers = {
            result: value(
                "vacate_hook_calls_total", {"target": "flush", "action": "prepare", "result": result}
            )
            for result in ("done", "in-progress", "refused")
        }
        assert (answers["done"], answers["refused"]) == (2, 1)
        assert (answers["in-progress"] or 0) >= 2
        called = value("vacate_hook_call_seconds_count", {"target": "flush"})
        assert called == sum(count or 0 for count in answers.values())
        assert value("vacate_hooks_ended_total", {"hook": "http", "result": "completed"}) == 2
        assert value("vacate_hooks_ended_total", {"hook": "http", "result": "failed"}) == 1

    simulate(body, settings=replace(ONE_NODE, measured=True))


def test_an_evacuation_runs_the_same_hook() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world)
        await serving(cluster.world, service, gates=parse_feature_gates(OPEN))
        await hooked(cluster)
        eviction = await cluster.evict("db", requester=cluster.requester(dialect=EVACUATION))
        assert eviction.pod_is_gone
        assert eviction.result is TurnResult.COMPLETED
        assert [work.answered for work in service.works.values()] == [True]

    simulate(body, feature_gates=OPEN)


def test_a_pod_that_named_no_hook_has_its_turn_once_it_names_one() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world)
        await serving(cluster.world, service)
        await cluster.pod("db", HOOKS_INTERCEPTOR)
        await cluster.budget("db")
        await cluster.requester().request("db")
        await cluster.until(lambda: recorded_stage(cluster.request) is Stage.BLOCKED)
        await cluster.clock.sleep(600.0)
        assert not service.works
        change = {"metadata": {"annotations": {TARGET: "flush"}}}
        await cluster.client.patch(PODS, "db", change, "default")
        await cluster.until(lambda: [one.answered for one in service.works.values()] == [True], 120.0)

    simulate(body)


@pytest.mark.thorough(beyond=3)
@pytest.mark.parametrize(
    ("annotations", "options", "why", "pending"),
    [
        ({}, {"status": 403}, "hook flush has refused: HTTP status 403: as configured", 0),
        ({}, {"status": 307}, "redirects are not followed", 0),
        ({TIMEOUT: "1m"}, {"status": 503}, "no answer that can be used: HTTP status 503", 50),
        ({TIMEOUT: "20s"}, {}, "was still in progress: flushing", 19),
        ({TARGET: "https://evil.example.com"}, {}, "names no target", 0),
        ({TARGET: "other"}, {}, "target other is not allowed for namespace default", 0),
    ],
)
def test_a_failed_hook_is_a_failed_preparation(
    annotations: dict[str, str], options: dict[str, Any], why: str, pending: int
) -> None:
    """The pod is evicted all the same, and nothing says that it was prepared."""

    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world, **options)
        await serving(cluster.world, service)
        await hooked(cluster, **annotations)
        eviction = await cluster.evict("db")
        assert pending <= eviction.took.total_seconds() <= pending + 30
        assert eviction.result is TurnResult.FAILED
        assert eviction.conditions[FAILED].status == "True"
        assert why in eviction.conditions[FAILED].message
        assert eviction.conditions["Complete"].reason == "PodTerminated"
        assert all(work.cancelled for work in service.works.values())

    simulate(body)


def test_a_hook_has_less_time_when_its_node_begins_to_shut_down() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world, seconds=100_000.0)
        await serving(cluster.world, service)
        await hooked(cluster)
        await cluster.requester().request("db")
        await cluster.until(lambda: bool(service.works))
        meta, began = cluster.request.metadata, cluster.clock.now()
        at = format_time(began + dt.timedelta(seconds=60))
        change = {"metadata": {"annotations": {SHUTDOWN_DEADLINE: at}}}
        await cluster.world.client.patch(EVICTIONREQUESTS, meta.name, change, meta.namespace)
        await cluster.until(
            lambda: any(
                (one.type, one.status) == (FAILED, "True") for one in cluster.request.status.conditions
            )
        )
        assert dt.timedelta(seconds=59) <= cluster.clock.now() - began <= dt.timedelta(seconds=75)

    simulate(body)


def test_a_turn_can_be_held_after_a_failure() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await serving(cluster.world, service_of(cluster.world, status=403))
        await hooked(cluster, **{ON_FAILURE: "Hold"})
        await cluster.requester().request("db")
        await cluster.until(
            lambda: any(
                (one.type, one.status) == (FAILED, "True") for one in cluster.request.status.conditions
            )
        )
        await cluster.clock.sleep(7200.0)
        assert not cluster.request.status.active_interceptor_completed
        assert not cluster.request.complete

    simulate(body)


def test_the_hook_learns_of_a_cancelled_request() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world, seconds=300.0)
        await serving(cluster.world, service)
        await hooked(cluster)
        request = await cluster.requester().request("db")
        await cluster.until(lambda: service.works)
        await cluster.client.delete(EVICTIONREQUESTS, request.metadata.name, "default")
        await cluster.world.settle()
        assert service.causes
        assert [work.cancelled for work in service.works.values()] == [True]
        assert "deletionTimestamp" not in cluster.find_pod("db")["metadata"]

    simulate(body)


def test_the_hook_learns_of_a_withdrawn_request() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world, seconds=300.0)
        await serving(cluster.world, service)
        await hooked(cluster)
        eviction = await cluster.evict("db", cancel_after=dt.timedelta(minutes=1))
        assert (eviction.result, eviction.pod_is_gone) == (TurnResult.CANCELLED, False)
        assert [work.cancelled for work in service.works.values()] == [True]

    simulate(body)


def test_many_pods_share_few_calls() -> None:
    """One namespace has half of the slots of a target: eight, unless the administrator says otherwise."""

    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world, seconds=1.0)
        await serving(cluster.world, service)
        names = [f"db-{number}" for number in range(12)]
        for name in names:
            await hooked(cluster, name)
        await asyncio.gather(*map(cluster.evict, names))
        assert [work.answered for work in service.works.values()] == [True] * 12
        assert service.most_calls == 4

    simulate(body)


def test_a_pod_without_a_hook_is_declined() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        service = service_of(cluster.world)
        await serving(cluster.world, service)
        await cluster.pod("db", HOOKS_INTERCEPTOR)
        eviction = await cluster.evict("db")
        assert eviction.result is TurnResult.DECLINED
        assert eviction.conditions[f"{HOOKS_INTERCEPTOR}/Declined"].status == "True"
        assert not service.works

    simulate(body)
