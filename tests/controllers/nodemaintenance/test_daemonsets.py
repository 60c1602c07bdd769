"""DaemonSet pods in a maintenance that includes them: last, and back only when it is over."""

from __future__ import annotations

import contextlib

import pytest

from support.simulated.clusters import in_world
from support.simulated.maintenances import drain, on_node, phase
from support.simulated.workloads import created, history, running
from vacate.api.kinds import DAEMONSETS, EVICTIONREQUESTS, NODEMAINTENANCES, PODS
from vacate.errors import NotFound
from vacate.sim.cluster import World
from vacate.testing import daemonset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]


def test_pods_of_a_daemon_set_go_last_stay_away_and_return() -> None:
    async def body(world: World) -> None:
        await world.client.create(DAEMONSETS, daemonset("logs"), "default")
        await running(world, replicas=6)
        await world.until(lambda: _available(world) == 3)
        assert len(on_node(world, "node-1")) > 1
        rules = {"daemonSetPods": "Evict", "unmanagedPods": "Evict", "localDataPods": "Evict"}
        await drain(world, "node-1", pods=rules)
        await world.until(lambda: phase(world) == "Drained", 3600.0)
        went = _ended(world, "node-1")
        assert went[-1].startswith("logs-")
        assert len([name for name in went if name.startswith("logs-")]) == 1
        await world.settle(60)
        assert on_node(world, "node-1") == []
        await world.client.delete(NODEMAINTENANCES, "kernel")
        await world.until(lambda: _available(world) == 3)
        assert [name.rpartition("-")[0] for name in on_node(world, "node-1")] == ["logs"]

    in_world(body, nodes=3)


@pytest.mark.parametrize("policy", ["Ignore", "Evict"])
def test_pods_of_a_daemon_set_that_fail_again_and_again_do_not_hold_the_drain(policy: str) -> None:
    """As under disk pressure, where a drain that deletes failed pods has them created anew without end."""

    async def body(world: World) -> None:
        await world.client.create(DAEMONSETS, daemonset("logs"), "default")
        await running(world, replicas=6)
        await world.until(lambda: _available(world) == 3)
        rules = {"daemonSetPods": policy, "unmanagedPods": "Evict", "localDataPods": "Evict"}
        await drain(world, "node-1", pods=rules)
        failed: set[str] = set()

        async def fail() -> None:
            for one in world.objects(PODS, "default"):
                meta = one["metadata"]
                if meta["name"].startswith("logs-") and one["spec"].get("nodeName") == "node-1":
                    with contextlib.suppress(NotFound):
                        status = {"status": {"phase": "Failed", "reason": "Evicted"}}
                        await world.client.patch(PODS, meta["name"], status, "default", subresource="status")
                        failed.add(meta["uid"])

        for _ in range(60):
            await fail()
            await world.settle(1)
        assert failed
        assert phase(world) == "Drained"
        asked = {one["spec"]["target"]["podRef"]["name"] for _, one in history(world, EVICTIONREQUESTS)}
        assert policy == "Evict" or not [name for name in asked if name.startswith("logs-")]

    in_world(body, nodes=3)


def _available(world: World) -> int:
    return int(created(world, DAEMONSETS, "logs").get("status", {}).get("numberAvailable", 0))


def _ended(world: World, node: str) -> list[str]:
    """The pods of the node whose deletion began, in that order."""
    seen: dict[str, str] = {}
    for _, pod in history(world, PODS):
        meta = pod["metadata"]
        if meta.get("deletionTimestamp") and pod["spec"].get("nodeName") == node:
            seen.setdefault(meta["uid"], meta["name"])
    return list(seen.values())
