"""A StatefulSet whose pods any deletion removes at once, also that by a taint."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw, tried
from support.laboratory.workload import AT_ONCE, without_grace
from vacate.api.kinds import PODS, STATEFULSETS
from vacate.api.objects import dig

RUNS_WITHIN = 30.0


async def lose_a_member_without_grace(lab: LaboratoryCluster, draw: Draw) -> None:
    """Somebody asks for such a StatefulSet, and the node on which its member has come to run is cut off.

    Where the guard refuses the member there is no such node.
    """
    lab.outcome.note("somebody creates a StatefulSet with a grace period of 0")
    await tried(lab.world.client.create(STATEFULSETS, without_grace(), "default"))
    last = lab.sim.loop.time() + RUNS_WITHIN
    while not (node := _node_of_member(lab)) and lab.sim.loop.time() < last:
        await lab.sim.clock.sleep(1.0)
    if node and node not in lab.hosts.spared:
        lab.outcome.note(f"{node}, where its member runs, is cut off")
        lab.hosts.keep_away(node)
        await lab.sim.clock.sleep(draw.seconds(60, 200))
        lab.hosts.let_back(node)
    await tried(lab.world.client.delete(STATEFULSETS, AT_ONCE, "default"))


def _node_of_member(lab: LaboratoryCluster) -> str:
    """Where it runs; empty where it does not."""
    pod = lab.world.find(PODS, f"{AT_ONCE}-0", "default")
    return str(dig(pod, "spec", "nodeName")) if dig(pod, "status", "phase") == "Running" else ""
