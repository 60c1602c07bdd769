"""The clock of the cluster is set by hours in the middle: nothing waits for hours, nothing ends at once."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import (
    A,
    B,
    active,
    ended,
    failed,
    heartbeat,
    on_simulated_cluster,
    request_eviction,
    requested,
    running_pod,
)
from support.simulated.maintenances import drain, on_node, open_requests, web
from vacate.api.kinds import DESCHEDULINGPOLICIES, EVICTIONREQUESTS, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.client.requests import STRATEGIC_PATCH
from vacate.eviction.requesternames import MAINTENANCE_SUFFIX
from vacate.sim.cluster import World
from vacate.testing import pdb

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

HOURS = 7200.0
TAINT = {"key": "gpu", "effect": "NoSchedule"}


def set_back(world: World) -> None:
    """For all at once: controllers follow the clock of the API server."""
    world.sim.clock._skew -= HOURS


def test_a_silent_interceptor_times_out() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B, seconds=600)
        await world.until(lambda: active(world, name) == B)
        await world.sim.clock.sleep(60)
        set_back(world)
        # Its heartbeat is from the future then, is set back when it is looked at, and counts once more.
        await world.until(lambda: active(world, name) == A, 1300)

    on_simulated_cluster(body)


def test_an_interceptor_that_beats_keeps_its_turn_when_the_clock_is_set_ahead() -> None:
    """Its last heartbeat is hours old by that clock, and the next one is not."""

    async def body(world: World) -> None:
        name = await requested(world, A, B, seconds=600)
        await world.until(lambda: active(world, name) == B)
        await world.sim.clock.sleep(300)
        await heartbeat(world, name)
        await world.sim.clock.sleep(10)
        world.sim.clock._skew += HOURS
        seen = {"metadata": {"annotations": {"seen": "again"}}}
        await world.client.patch(EVICTIONREQUESTS, name, seen, "default")
        for _ in range(20):
            await world.sim.clock.sleep(50)
            assert active(world, name) == B
            await heartbeat(world, name)
        await world.until(lambda: active(world, name) == A, 700)

    on_simulated_cluster(body)


def test_a_refused_eviction_is_tried_again() -> None:
    async def body(world: World) -> None:
        # A budget that nobody counts, so that it never opens.
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
        target = await running_pod(world, labels={"app": "web"})
        running = {"status": {"phase": "Running"}}
        await world.client.patch(
            PODS, "p", running, "default", patch_type=STRATEGIC_PATCH, subresource="status"
        )
        name = await request_eviction(world, target)
        await world.until(lambda: failed(world, name) == 2, 300)
        set_back(world)
        await world.until(lambda: failed(world, name) == 3, 300)

    on_simulated_cluster(body)


def test_a_policy_looks_again() -> None:
    async def body(world: World) -> None:
        await web(world)
        identity = {"apiVersion": DESCHEDULINGPOLICIES.api_version, "kind": DESCHEDULINGPOLICIES.kind}
        spec = {"rules": ["NodeTaints"], "mode": "Evict"}
        await world.client.create(
            DESCHEDULINGPOLICIES, {**identity, "metadata": {"name": "tidy"}, "spec": spec}
        )
        await world.sim.clock.sleep(60)
        set_back(world)
        await world.client.patch(NODES, "node-1", {"spec": {"taints": [TAINT]}})
        await world.until(lambda: not on_node(world, "node-1"), 900)

    in_world(body)


def test_a_drain_requests_a_pod_again_whose_request_was_deleted() -> None:
    async def body(world: World) -> None:
        await web(world, template={"spec": {"evictionInterceptors": [{"name": A}]}})
        await drain(world, "node-1")
        await world.until(lambda: len(open_requests(world)) == len(on_node(world, "node-1")), 300)
        set_back(world)
        for _ in range(2):
            for one in world.objects(EVICTIONREQUESTS):
                await world.client.delete(EVICTIONREQUESTS, one["metadata"]["name"], "default")
            await world.until(lambda: len(open_requests(world)) == len(on_node(world, "node-1")), 90)

    in_world(body)


def test_the_end_of_a_request_is_written_that_no_garbage_collector_removes() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world)
        name = await request_eviction(world, target, f"kernel.{MAINTENANCE_SUFFIX}")
        await world.until(lambda: world.find(PODS, "p", "default") is None, 60)
        await world.sim.clock.sleep(1)
        assert not ended(world, name)
        set_back(world)
        await world.until(lambda: ended(world, name), 60)

    on_simulated_cluster(body)
