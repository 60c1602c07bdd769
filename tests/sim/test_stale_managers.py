"""Two managers at once, one of which receives changes late: they do not undo each other's work for ever."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from support.simulated.maintenances import claims, drain, is_cordoned, phase, web
from vacate.api.kinds import NODEMAINTENANCES, NODES
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.maintenance.names import CLAIMS
from vacate.metrics import Metrics
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.transport import NO_FAULT, Fault, Script
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

LATE = 60.0
"""Seconds after which the second manager hears of maintenances; of all else it hears at once."""


class LateMaintenances:
    """The watch of maintenances lags behind all others."""

    def fault(self, request: Request) -> Fault:
        late = "watch" in request.query and request.path.endswith(f"/{NODEMAINTENANCES.plural}")
        return Fault(lag=LATE) if late else NO_FAULT


def with_a_stale_manager(body: Callable[[World], Awaitable[None]]) -> None:
    def build(link: Transport, around: ComponentContext) -> Any:
        alone = replace(around, metrics=Metrics())
        return component_manager(link, "vacate-manager", enabled(around.gates), alone, PROJECTIONS)

    async def main(sim: Sim) -> None:
        settings = WorldSettings(plans=lambda name: LateMaintenances() if name == "stale" else Script(()))
        async with World(sim, settings) as world:
            await world.start("stale", build, EVICTION_CONTROLLER)
            await body(world)

    run_sim(main, 1)


def claimed(world: World, node: str) -> list[str | None]:
    """The node's record of who claims it, each time that this changed."""
    found: list[str | None] = [None]
    for _, record in world.server.history:
        if (record.resource, record.name) == (NODES.resource, node) and not record.deleted:
            text = orjson.loads(record.value)["metadata"].get("annotations", {}).get(CLAIMS)
            if text != found[-1]:
                found.append(text)
    return found


def test_a_manager_that_has_not_heard_of_a_maintenance_leaves_its_nodes_alone() -> None:
    async def body(world: World) -> None:
        await web(world, 4)
        await drain(world, "node-1")
        await world.until(lambda: phase(world) == "Drained")
        await world.sim.clock.sleep(2 * LATE)
        assert is_cordoned(world, "node-1")
        assert len(claimed(world, "node-1")) == 2

    with_a_stale_manager(body)


def test_a_manager_that_has_not_heard_of_a_second_maintenance_keeps_its_claim() -> None:
    async def body(world: World) -> None:
        await web(world, 4)
        await drain(world, "node-1")
        await world.sim.clock.sleep(2 * LATE)
        await drain(world, "node-1", name="firmware")
        await world.until(lambda: phase(world, "firmware") == "Drained")
        await world.sim.clock.sleep(2 * LATE)
        assert len(claimed(world, "node-1")) == 3

    with_a_stale_manager(body)


def test_a_manager_that_has_not_heard_of_the_end_of_a_maintenance_claims_nothing_again() -> None:
    async def body(world: World) -> None:
        await web(world, 4)
        await drain(world, "node-1")
        await world.sim.clock.sleep(2 * LATE)
        await world.client.delete(NODEMAINTENANCES, "kernel")
        await world.until(lambda: world.find(NODEMAINTENANCES, "kernel") is None)
        await world.sim.clock.sleep(2 * LATE)
        assert claims(world, "node-1") is None
        assert not is_cordoned(world, "node-1")
        assert len(claimed(world, "node-1")) == 3

    with_a_stale_manager(body)
