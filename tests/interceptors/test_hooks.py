"""Pods whose hooks are called before they are evicted, on the embedded cluster in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.clusters import in_world
from support.simulated.deployments import completed
from support.simulated.evictions import found, request_eviction, running_pod, status, turns
from support.simulated.hooks import service_of, serving
from support.simulated.workloads import condition_of, created, history
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.features import parse_feature_gates
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, ON_FAILURE, TARGET, TIMEOUT
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

FAILED = f"{HOOKS_INTERCEPTOR}/Failed"
GATES = parse_feature_gates("EvacuationAPI=true")


async def hooked(world: World, name: str = "db", **annotations: str) -> Obj:
    given = {TARGET: "flush", **{key.replace("_", "-"): value for key, value in annotations.items()}}
    meta = {"metadata": {"annotations": given}}
    return await running_pod(world, name, interceptors=[HOOKS_INTERCEPTOR], **meta)


def messages(world: World) -> list[str]:
    return list(
        dict.fromkeys(one["status"].get("message", "") for _, one in history(world, EVICTIONREQUESTS))
    )


def test_a_pod_is_evicted_when_its_hook_is_done() -> None:
    async def body(world: World) -> None:
        service = service_of(world)
        await serving(world, service)
        request = await request_eviction(world, await hooked(world))
        await completed(world, request)
        (work,) = service.works.values()
        assert (work.pod, work.answered, work.cancelled) == ("db", True, False)
        assert turns(world, request) == [HOOKS_INTERCEPTOR]
        assert condition_of(found(world, request), FAILED) == ""
        assert "Hook flush: flushing (0 %)" in messages(world)
        assert "Hook flush: flushed" in messages(world)

    in_world(body)


def test_calls_and_hooks_are_counted() -> None:
    async def body(world: World) -> None:
        service = service_of(world)
        await serving(world, service)
        done = [await request_eviction(world, await hooked(world, name)) for name in ("db", "other")]
        await completed(world, *done)
        service.status = 403
        await completed(world, await request_eviction(world, await hooked(world, "third")))
        value = world.server.metrics.registry.get_sample_value
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

    in_world(body)


def test_an_evacuation_runs_the_same_hook() -> None:
    async def body(world: World) -> None:
        service = service_of(world)
        await serving(world, service, gates=GATES)
        target = await hooked(world)
        made = EVACUATION.new_request(codec_for(Pod).convert(target), "drain.example.com", "", None)
        await world.client.create(EVACUATIONS, made, "default")
        await world.until(lambda: world.find(PODS, "db", "default") is None)
        assert [work.answered for work in service.works.values()] == [True]

    in_world(body, gates=GATES)


@pytest.mark.thorough(beyond=3)
@pytest.mark.parametrize(
    ("annotations", "options", "why", "pending"),
    [
        ({}, {"status": 403}, "hook flush has refused: HTTP status 403: as it was told", 0),
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

    async def body(world: World) -> None:
        service = service_of(world, **options)
        await serving(world, service)
        target = await hooked(world, **annotations)
        began = world.sim.clock.monotonic()
        request = await request_eviction(world, target)
        await completed(world, request)
        assert pending <= world.sim.clock.monotonic() - began <= pending + 30
        failed = found(world, request)
        assert condition_of(failed, FAILED) == "True"
        assert why in condition_of(failed, FAILED, "message")
        assert condition_of(failed, "Complete", "reason") == "PodTerminated"
        assert all(work.cancelled for work in service.works.values())

    in_world(body)


def test_a_turn_can_be_held_after_a_failure() -> None:
    async def body(world: World) -> None:
        service = service_of(world, status=403)
        await serving(world, service)
        request = await request_eviction(world, await hooked(world, **{ON_FAILURE: "Hold"}))
        await world.until(lambda: condition_of(found(world, request), FAILED) == "True")
        await world.sim.clock.sleep(7200.0)
        assert not status(world, request).get("activeInterceptorCompleted")
        assert condition_of(created(world, EVICTIONREQUESTS, request), "Complete") != "True"

    in_world(body)


def test_a_cancelled_request_tells_the_hook() -> None:
    async def body(world: World) -> None:
        service = service_of(world, seconds=300.0)
        await serving(world, service)
        request = await request_eviction(world, await hooked(world))
        await world.until(lambda: service.works)
        await world.client.delete(EVICTIONREQUESTS, request, "default")
        await world.settle()
        assert service.causes
        assert [work.cancelled for work in service.works.values()] == [True]
        assert created(world, PODS, "db")["metadata"].get("deletionTimestamp") is None

    in_world(body)


def test_many_pods_share_few_calls() -> None:
    """One namespace has half of the slots of a target: eight, unless the administrator says otherwise."""

    async def body(world: World) -> None:
        service = service_of(world, seconds=1.0)
        await serving(world, service)
        pods = [await hooked(world, f"db-{number}") for number in range(12)]
        await completed(world, *[await request_eviction(world, one) for one in pods])
        assert [work.answered for work in service.works.values()] == [True] * 12
        assert service.most_calls == 4

    in_world(body)


def test_a_pod_without_a_hook_is_declined() -> None:
    async def body(world: World) -> None:
        service = service_of(world)
        await serving(world, service)
        target = await running_pod(world, "db", interceptors=[HOOKS_INTERCEPTOR])
        request = await request_eviction(world, target)
        await completed(world, request)
        assert condition_of(found(world, request), f"{HOOKS_INTERCEPTOR}/Declined") == "True"
        assert not service.works

    in_world(body)
