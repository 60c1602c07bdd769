"""Faults of managers, controllers and fence agents."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw, tried
from support.laboratory.faults.partitions import cut_off
from support.laboratory.hosts import MANAGERS
from support.laboratory.workload import BY_POWER
from vacate.api.kinds import PODS
from vacate.sim.fenceagents import Behaviour

FAULTY = (
    Behaviour.LIES,
    *(one for one in Behaviour if one not in (Behaviour.WORKS, Behaviour.WRONG_MACHINE)),
)
"""The most dangerous one twice."""


async def manager_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    name = list(MANAGERS)[draw.below(len(MANAGERS))]
    lab.outcome.note(f"{name} crashes")
    await lab.hosts.restart(lab.hosts.managers[name], draw.seconds(0.1, 90), MANAGERS[name])


async def controllers_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    process = (lab.world.controllers, lab.world.scheduler)[draw.below(2)]
    lab.outcome.note(f"{process.name} crashes")
    await lab.hosts.restart(process, draw.seconds(0.1, 60))


async def slow_manager(lab: LaboratoryCluster, draw: Draw) -> None:
    """It acts upon what was true a while ago, and its writes arrive late, while the volume moves."""
    name, slow = list(MANAGERS)[draw.below(len(MANAGERS))], draw.seconds(2, 12)
    lab.outcome.note(f"the link of {name} to the API server takes up to {slow:.0f} s")
    lab.world.network.slow_down(name, slow)
    for _ in range(4):
        for pod in lab.volume_users():
            lab.outcome.note(f"{pod}, which uses the exclusive volume, is deleted")
            await tried(lab.world.client.delete(PODS, pod, "default"))
        await lab.sim.clock.sleep(draw.seconds(5, 40))
    lab.world.network.slow_down(name, 0.0)


async def faulty_fence_agent(lab: LaboratoryCluster, draw: Draw) -> None:
    """Of a node that is lost, so that it is needed."""
    name, behaviour = draw.node(), FAULTY[draw.below(len(FAULTY))]
    lab.outcome.note(f"the fence agent of {name}: {behaviour}")
    lab.hosts.switches.behaviours[name] = behaviour
    await cut_off(lab, (name,), draw.seconds(150, 700))
    lab.hosts.switches.behaviours.pop(name, None)


async def wrong_fence_agent(lab: LaboratoryCluster, draw: Draw) -> None:
    """The fence agent of a lost node switches another machine off.

    One that reports until then: of a machine that was silent before nobody can tell that it is the wrong one.
    Nor of a wrong port of the storage: the machine behind that one goes on reporting.
    """
    name = BY_POWER[draw.below(len(BY_POWER))]
    other, hosts = draw.other(name), lab.hosts
    if not hosts.reports(other) or {name, other} & hosts.spared.keys():
        return
    lab.outcome.note(f"the fence agent of {name} speaks of the machine of {other}")
    hosts.spared[other] = None
    hosts.switches.others[name] = other
    hosts.switches.behaviours[name] = Behaviour.WRONG_MACHINE
    await cut_off(lab, (name,), draw.seconds(200, 700))
    hosts.switches.behaviours.pop(name, None)
    hosts.spared.pop(other, None)
    hosts.power_on(other)
