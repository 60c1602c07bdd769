"""Faults of machines, of their disks, and of the node agents on them."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw


async def power_loss(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    if name in lab.hosts.spared:
        return
    lab.hosts.power_off(name)
    await lab.sim.clock.sleep(draw.seconds(5, 400))
    lab.hosts.power_on(name)


async def shutdown(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    if name in lab.hosts.spared:
        return
    lab.outcome.note(f"{name} shuts down")
    down, called_off = draw.seconds(5, 200), draw.seconds(0.5, 4)
    await lab.hosts.shut_down(name, down, called_off if draw.below(2) else 0.0)


async def agent_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    if name in lab.hosts.spared:
        return
    lab.outcome.note(f"the agent of {name} crashes")
    await lab.hosts.restart(lab.hosts.agents[name], draw.seconds(0.1, 200), name)


async def node_disk_full(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    disk = lab.hosts.machines[name].disk
    lab.outcome.note(f"the disk of {name} is full")
    disk.full = True
    await lab.sim.clock.sleep(draw.seconds(20, 300))
    disk.full = False


async def node_disk_slow(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    disk = lab.hosts.machines[name].disk
    lab.outcome.note(f"the disk of {name} is slow")
    disk.seconds = draw.seconds(1, 60)
    await lab.sim.clock.sleep(draw.seconds(20, 300))
    disk.seconds = 0.0
