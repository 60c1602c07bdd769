"""Partitions: between the control plane and nodes or controllers, and between nodes."""

from __future__ import annotations

from collections.abc import Sequence

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw, tried
from support.laboratory.hosts import MANAGERS, NODES
from support.laboratory.workload import STORAGE, TOLERANT, tolerant_pod
from vacate.api.kinds import PODS
from vacate.sim.invariants.partitions import WITHIN

RACK = tuple(name for name in NODES if name not in MANAGERS.values())


async def cut_node_off(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    await cut_off(lab, (name,), draw.seconds(20, 600))


async def cut_all_nodes_off(lab: LaboratoryCluster, draw: Draw) -> None:
    await cut_off(lab, NODES, draw.seconds(60, 400))


async def cut_rack_off(lab: LaboratoryCluster, draw: Draw) -> None:
    """More nodes than may be fenced; the managers are elsewhere and go on."""
    await cut_off(lab, RACK, draw.seconds(200, 700))


async def cut_node_off_under_what_stays(lab: LaboratoryCluster, draw: Draw) -> None:
    """A pod tolerates that, so that it is still there when the node reports again, before a fence."""
    name = draw.node()
    await tried(lab.world.client.create(PODS, tolerant_pod(name), "default"))
    await lab.sim.clock.sleep(draw.seconds(5, 20))
    await cut_off(lab, (name,), draw.seconds(60, 100))
    await lab.sim.clock.sleep(WITHIN + draw.seconds(60, 100))
    await tried(lab.world.client.delete(PODS, TOLERANT, "default"))


async def cut_off(lab: LaboratoryCluster, nodes: Sequence[str], seconds: float) -> None:
    """Nothing gets through between these nodes and the control plane for so long."""
    names = [name for name in nodes if name not in lab.hosts.spared]
    for name in names:
        lab.outcome.note(f"{name} is cut off from the control plane for {seconds:.0f} s")
        lab.hosts.cut_off(name)
    await lab.sim.clock.sleep(seconds)
    for name in names:
        lab.hosts.reconnect(name)


async def cut_all_agents_off(lab: LaboratoryCluster, draw: Draw) -> None:
    """The managers still reach the API server: to them all nodes look dead, and none of them is."""
    names = [name for name in NODES if name not in lab.hosts.spared]
    seconds = draw.seconds(120, 500)
    lab.outcome.note(f"all agents lose the API server for {seconds:.0f} s, and the managers do not")
    for name in names:
        lab.hosts.cut_agent_off(name)
    await lab.sim.clock.sleep(seconds)
    for name in names:
        lab.hosts.reconnect(name)


async def cut_nodes_from_each_other(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    await _separate(lab, name, [draw.other(name)], draw.seconds(20, 400))


async def cut_node_from_all_peers(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    others = [one for one in (*NODES, STORAGE) if one != name]
    await _separate(lab, name, others, draw.seconds(20, 400))


async def cut_node_from_storage(lab: LaboratoryCluster, draw: Draw) -> None:
    await _separate(lab, draw.node(), [STORAGE], draw.seconds(20, 400))


async def _separate(lab: LaboratoryCluster, name: str, others: list[str], seconds: float) -> None:
    lab.outcome.note(f"{name} does not reach {', '.join(others)} for {seconds:.0f} s")
    for other in others:
        lab.hosts.network.cut(name, other)
    await lab.sim.clock.sleep(seconds)
    for other in others:
        lab.hosts.network.mend(name, other)


async def cut_manager_off(lab: LaboratoryCluster, draw: Draw) -> None:
    await _cut_process(lab, list(MANAGERS)[draw.below(len(MANAGERS))], draw.seconds(5, 200))


async def cut_controllers_off(lab: LaboratoryCluster, draw: Draw) -> None:
    await _cut_process(lab, ("controllers", "scheduler")[draw.below(2)], draw.seconds(5, 200))


async def _cut_process(lab: LaboratoryCluster, name: str, seconds: float) -> None:
    lab.outcome.note(f"{name} is cut off from the API server for {seconds:.0f} s")
    lab.world.network.cut(name)
    await lab.sim.clock.sleep(seconds)
    lab.world.network.mend(name)
