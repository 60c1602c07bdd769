"""Faults of managers, controllers and fence agents."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw
from support.laboratory.hosts import MANAGERS
from vacate.sim.fenceagents import Behaviour

# One that speaks of another machine is left out: that node's silence tells, and here that has many causes.
BEHAVIOURS = tuple(one for one in Behaviour if one is not Behaviour.WRONG_MACHINE)


async def manager_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    name = list(MANAGERS)[draw.below(len(MANAGERS))]
    lab.outcome.note(f"{name} crashes")
    await lab.hosts.restart(lab.hosts.managers[name], draw.seconds(0.1, 90), MANAGERS[name])


async def controllers_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    process = (lab.world.controllers, lab.world.scheduler)[draw.below(2)]
    lab.outcome.note(f"{process.name} crashes")
    await lab.hosts.restart(process, draw.seconds(0.1, 60))


async def fence_agent(lab: LaboratoryCluster, draw: Draw) -> None:
    name, behaviour = draw.node(), BEHAVIOURS[draw.below(len(BEHAVIOURS))]
    lab.outcome.note(f"the fence agent of {name}: {behaviour}")
    lab.hosts.switches.behaviours[name] = behaviour
