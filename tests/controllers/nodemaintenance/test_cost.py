"""What a drain of several nodes in waves costs: as much for each pod, however many nodes there are."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

import pytest

from support.simulated.clusters import in_world
from support.simulated.maintenances import drain, phase
from vacate.api.kinds import PODS
from vacate.client.transport import Transport
from vacate.controllers.nodemaintenance import controller
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.maintenance.model import MaintenancePlan
from vacate.maintenance.plan import plan_maintenance
from vacate.sim.cluster import World
from vacate.testing import pod
from vacate.wire.message import Request, Response
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

pytestmark = pytest.mark.sim

PODS_OF_A_NODE = 4
REST_SECONDS = 600.0
ONCE = 1  # the finalizer of the maintenance


class Counted:
    """A transport that counts what passes it, but for watches and Events."""

    def __init__(self, transport: Transport, calls: list[str]) -> None:
        self._transport = transport
        self._calls = calls

    async def send(self, request: Request) -> Response:
        if "watch" not in request.query and not request.path.endswith("/events"):
            self._calls.append(f"{request.method} {request.path}")
        return await self._transport.send(request)

    async def aclose(self) -> None:
        await self._transport.aclose()


def calls_of_a_drain(nodes: int) -> list[str]:
    """Of all of Vacate's controllers, for nodes that are drained two at a time; afterwards they rest."""
    calls: list[str] = []

    def build(link: Transport, around: ComponentContext) -> Any:
        link = Counted(link, calls)
        return component_manager(link, "vacate-manager", enabled(around.gates), around, PROJECTIONS)

    async def body(world: World) -> None:
        await world.start("manager", build, EVICTION_CONTROLLER)
        count = nodes * PODS_OF_A_NODE
        for number in range(count):
            one = pod(f"p-{number}", spec={"nodeName": f"node-{number % nodes + 1}"})
            await world.client.create(PODS, one, "default")
        await world.until(lambda: len(world.healthy_pods()) == count)
        calls.clear()
        await drain(world, *(f"node-{number + 1}" for number in range(nodes)), maxNodes=2)
        await world.until(lambda: phase(world) == "Drained")
        done = len(calls)
        await world.sim.clock.sleep(REST_SECONDS)
        assert [one for one in calls[done:] if one.startswith("GET")] == []

    in_world(body, evictions=(), nodes=nodes)
    return calls


@pytest.mark.parametrize("nodes", [3, 20])
def test_plans_are_spaced(monkeypatch: pytest.MonkeyPatch, nodes: int) -> None:
    """Each change of a pod or its request wakes the maintenance; that many are planned for together."""
    moments = list[dt.datetime]()

    def plan(*given: Any) -> MaintenancePlan:
        moments.append(given[-1])
        return plan_maintenance(*given)

    monkeypatch.setattr(controller, "plan_maintenance", plan)

    async def body(world: World) -> None:
        for number in range(nodes):
            one = pod(f"p-{number}", spec={"nodeName": f"node-{number + 1}"})
            await world.client.create(PODS, one, "default")
        await world.until(lambda: len(world.healthy_pods()) == nodes)
        await drain(world, *(f"node-{number + 1}" for number in range(nodes)), maxNodes=nodes)
        await world.until(lambda: phase(world) == "Drained")

    in_world(body, nodes=nodes)
    pauses = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert len(pauses) > 3
    assert min(pauses) >= max(nodes * controller.PLAN_SPACING, controller.MIN_SPACING)


@pytest.mark.thorough
def test_a_pod_costs_as_much_in_a_cluster_three_times_as_large() -> None:
    few, many = calls_of_a_drain(3), calls_of_a_drain(9)
    assert (len(many) - ONCE) / 9 <= 1.1 * (len(few) - ONCE) / 3
    assert len(many) <= 5 * 9 * PODS_OF_A_NODE
