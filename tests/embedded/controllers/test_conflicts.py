"""A DELETE that is answered with 409 is tried again, unless another pod has the name.

The status is also that of a write that lost against another one: the pod is still there then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from support.simulated.workloads import in_world
from vacate.api.kinds import DAEMONSETS, NODES, PODS, REPLICASETS, STATEFULSETS
from vacate.sim.cluster import World
from vacate.sim.faults.transport import NO_FAULT, Fault
from vacate.testing import daemonset, pod, replicaset, statefulset
from vacate.wire.message import Request

pytestmark = pytest.mark.sim

NO_EXECUTE = {"key": "maintenance", "value": "now", "effect": "NoExecute"}


class ConflictOnce:
    """The first deletion of each pod conflicts."""

    def __init__(self) -> None:
        self.refused: set[str] = set()

    def fault(self, request: Request) -> Fault:
        """409, the first time."""
        if request.method != "DELETE" or "/pods/" not in request.path or request.path in self.refused:
            return NO_FAULT
        self.refused.add(request.path)
        return Fault(status=409)


class NoFaults:
    """All goes well."""

    def fault(self, _: Request) -> Fault:
        """None."""
        return NO_FAULT


async def _placed(world: World) -> None:
    await world.client.create(PODS, pod("db-0", spec={"nodeName": "node-1"}), "default")
    await world.until(lambda: len(world.healthy_pods()) == 1)


async def pod_gc(world: World) -> None:
    await _placed(world)
    world.pool.isolate("node-1")
    await world.client.delete(NODES, "node-1")


async def taint_eviction(world: World) -> None:
    await _placed(world)
    await world.client.patch(NODES, "node-1", {"spec": {"taints": [NO_EXECUTE]}})


async def simulated_node(world: World) -> None:
    await _placed(world)
    await world.client.delete(PODS, "db-0", "default")


async def replica_set(world: World) -> None:
    await world.client.create(REPLICASETS, replicaset("web", replicas=1), "default")
    await world.until(lambda: len(world.healthy_pods()) == 1)
    await world.client.patch(REPLICASETS, "web", {"spec": {"replicas": 0}}, "default")


async def stateful_set(world: World) -> None:
    await world.client.create(STATEFULSETS, statefulset("db", replicas=1), "default")
    await world.until(lambda: len(world.healthy_pods()) == 1)
    await world.client.patch(STATEFULSETS, "db", {"spec": {"replicas": 0}}, "default")


async def daemon_set(world: World) -> None:
    await world.client.create(DAEMONSETS, daemonset("log"), "default")
    await world.until(lambda: len(world.healthy_pods()) == world.settings.nodes)
    nowhere = {"spec": {"template": {"spec": {"nodeSelector": {"no": "where"}}}}}
    await world.client.patch(DAEMONSETS, "log", nowhere, "default")


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize(
    ("begin", "part"),
    [
        (pod_gc, "controllers"),
        (taint_eviction, "controllers"),
        (replica_set, "controllers"),
        (stateful_set, "controllers"),
        (daemon_set, "controllers"),
        (simulated_node, "nodes"),
    ],
)
def test_a_deletion_that_conflicts_is_tried_again(
    begin: Callable[[World], Awaitable[None]], part: str
) -> None:
    plan = ConflictOnce()

    async def body(world: World) -> None:
        await begin(world)
        await world.until(lambda: not world.objects(PODS), 120.0, "the pod is removed")
        assert plan.refused

    in_world(body, plans=lambda name: plan if name == part else NoFaults())
