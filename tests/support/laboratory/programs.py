"""What runs on the laboratory's machines: the node agent, and a manager with all of Vacate's controllers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from support.laboratory.fencing import ReachableSwitches
from support.simulated.shutdown import SimLogind
from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES
from vacate.api.types import PersistentVolume
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.controllers.fencing.controller import build as build_fencing
from vacate.controllers.projections import PROJECTIONS
from vacate.metrics import Metrics
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.volumes import inuse
from vacate.nodeagent.volumes import manager as podvolumes
from vacate.runtime.manager import Manager
from vacate.sim.machines.agent import AgentProgram
from vacate.sim.machines.machine import Machine
from vacate.sim.machines.runtime import SimRuntime
from vacate.wiring.components import ComponentContext, ControllerDescriptor, component_manager
from vacate.wiring.controllers import enabled

SHUTDOWN = ShutdownConfig((Bucket(0, 40.0),), "")


def agent_program(
    machine: Machine, folder: Path, logind: SimLogind, transport: Transport, around: ComponentContext
) -> AgentProgram:
    """The node agent, with graceful shutdown."""
    settings = AgentSettings(name=machine.name, folder=folder, taint=False, shutdown=SHUTDOWN)
    runtime = SimRuntime(machine, logind.close)
    alone = replace(around, metrics=Metrics())
    return AgentProgram(machine, settings, transport, alone, runtime=runtime, logind=logind)


def stock_agents(patch: pytest.MonkeyPatch) -> None:
    """Have the agents neither wait for exclusive volumes nor list them, as kubelets do with NFS."""

    async def ready(client: Client, namespace: str, claim: str, uid: str, node: str) -> PersistentVolume:
        found = await client.get(PERSISTENTVOLUMECLAIMS, claim, namespace)
        return await client.get(PERSISTENTVOLUMES, found["spec"]["volumeName"], into=PersistentVolume)

    def nothing(_: Iterable[str]) -> list[str]:
        return []

    patch.setattr(podvolumes, "ready_volume", ready)
    patch.setattr(inuse, "listing", nothing)


def manager_program(agents: ReachableSwitches, transport: Transport, around: ComponentContext) -> Manager:
    """All controllers that the gates allow, with the power switches that this manager reaches."""
    alone = replace(around, metrics=Metrics())
    ours = [_with_agents(one, agents) for one in enabled(alone.gates)]
    return component_manager(transport, "vacate-manager", ours, alone, PROJECTIONS)


def _with_agents(row: ControllerDescriptor, agents: ReachableSwitches) -> ControllerDescriptor:
    return replace(row, build=partial(build_fencing, agents=agents)) if row.gate == "Fencing" else row
