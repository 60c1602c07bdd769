"""What the controller asks of the server, and when."""

from __future__ import annotations

import json

import pytest

from support.simulated.evictions import (
    A,
    active,
    completed,
    evictions_heard,
    in_eviction_cluster,
    on_simulated_cluster,
    request_eviction,
    running_pod,
)
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.options import DeleteOptions
from vacate.sim.auditlog import Audit
from vacate.sim.cluster import World
from vacate.sim.faults.transport import NO_FAULT, Fault
from vacate.testing import pod
from vacate.wire.message import Request

pytestmark = pytest.mark.sim

LAG = 20.0


class LatePods:
    """Changes of pods arrive late, those of requests at once."""

    def fault(self, request: Request) -> Fault:
        late = request.path.endswith("/pods") and "watch" in request.query
        return Fault(lag=LAG) if late else NO_FAULT


def test_an_eviction_names_the_uid_of_the_pod() -> None:
    async def body(world: World) -> None:
        world.network.audit = Audit(world.sim.clock.monotonic, lambda one: one.path.endswith("/eviction"))
        target = await running_pod(world)
        await completed(world, await request_eviction(world, target))
        heard = [json.loads(one.body) for one in world.network.audit.heard]
        uid = target["metadata"]["uid"]
        assert [one["deleteOptions"]["preconditions"] for one in heard] == [{"uid": uid}]

    in_eviction_cluster(body)


def test_a_pod_that_the_cache_does_not_show_is_not_evicted() -> None:
    async def body(world: World) -> None:
        await world.settle()
        target = await running_pod(world)
        name = await request_eviction(world, target)
        await world.sim.clock.sleep(LAG / 2)
        assert evictions_heard(world) == 0
        assert await completed(world, name) == "PodDeleted"
        assert evictions_heard(world)

    on_simulated_cluster(body, plans=lambda _: LatePods())


def test_a_pod_that_the_cache_shows_no_more_is_not_taken_for_gone() -> None:
    """The name has another pod in the cache: the one before. The server is asked."""

    async def body(world: World) -> None:
        await running_pod(world)
        await world.sim.clock.sleep(LAG)
        await world.client.delete(PODS, "p", "default", DeleteOptions(grace_period_seconds=0))
        made = pod("p")
        made["spec"]["evictionInterceptors"] = [{"name": A}]
        await world.client.create(PODS, made, "default")
        name = await request_eviction(world, world.find(PODS, "p", "default") or {})
        await world.until(lambda: active(world, name) == A, timeout=LAG / 2)

    on_simulated_cluster(body, plans=lambda _: LatePods())


def test_cancelling_after_the_eviction_changes_only_the_request() -> None:
    async def body(world: World) -> None:
        slow = {"annotations": {"sim.vacate.dev/stop-seconds": "20"}}
        target = await running_pod(world, metadata=slow)
        name = await request_eviction(world, target)
        await world.until(lambda: evictions_heard(world) == 1)
        await world.client.patch(EVICTIONREQUESTS, name, {"spec": {"requesters": []}}, "default")
        assert await completed(world, name) == "Cancelled"
        assert world.find(PODS, "p", "default") is not None
        await world.until(lambda: world.find(PODS, "p", "default") is None)

    in_eviction_cluster(body)


def test_evictions_are_counted_for_good() -> None:
    async def body(world: World) -> None:
        await completed(world, await request_eviction(world, await running_pod(world)))
        await world.settle()
        assert sample(world, "vacate_evictions_total", result="accepted") == 1.0

    in_eviction_cluster(body)


def test_the_queue_has_its_name() -> None:
    async def body(world: World) -> None:
        await completed(world, await request_eviction(world, await running_pod(world)))
        name = "evictionrequests"
        assert (sample(world, "workqueue_adds_total", name=name, controller=name) or 0) > 0

    in_eviction_cluster(body)


def sample(world: World, series: str, **labels: str) -> float | None:
    return world.server.metrics.registry.get_sample_value(series, labels)
