"""Faults of the API server and of the store behind it."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw


async def store_unreachable(lab: LaboratoryCluster, draw: Draw) -> None:
    seconds = draw.seconds(5, 60)
    lab.outcome.note(f"the API server does not reach its store for {seconds:.0f} s")
    lab.world.server.condition.unreachable = True
    await lab.sim.clock.sleep(seconds)
    lab.world.server.condition.unreachable = False


async def store_slow(lab: LaboratoryCluster, draw: Draw) -> None:
    condition, slow = lab.world.server.condition, draw.seconds(0.1, 3)
    lab.outcome.note(f"a write to the store takes up to {slow:.1f} s")
    condition.seconds = slow
    await lab.sim.clock.sleep(draw.seconds(10, 90))
    condition.seconds = 0.0


async def store_full(lab: LaboratoryCluster, draw: Draw) -> None:
    lab.outcome.note("the store's disk is full")
    lab.world.server.condition.full = True
    await lab.sim.clock.sleep(draw.seconds(5, 60))
    lab.world.server.condition.full = False


async def server_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    await lab.restart_server(draw.seconds(0.1, 30))
