"""The cluster of a scenario: controllers and interceptors as processes, and an audit."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace

from support.eviction_scenarios.behaviour import Behaviour
from support.eviction_scenarios.calls import Calls
from support.eviction_scenarios.candidate import Candidate
from support.eviction_scenarios.evictionobserver import EvictionObserver
from support.eviction_scenarios.raw_interceptor import RawController
from support.eviction_scenarios.scenario import NODES, REQUESTERS, Scenario, managers
from support.eviction_scenarios.sdk_interceptor import sdk_controller
from support.eviction_scenarios.users import NAMESPACE
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.embedded.cluster.controlplane import CONTROLLERS, EVICTION_CONTROLLER
from vacate.embedded.nodes.settings import NodeSettings
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.features import FeatureGates, parse_feature_gates
from vacate.metrics import Metrics
from vacate.runtime.manager import Manager
from vacate.sdk.requesters.requester import Requester
from vacate.sim.auditlog import Audit
from vacate.sim.cluster import Build, World, WorldSettings
from vacate.sim.faults.plan import FaultPlan
from vacate.sim.faults.transport import NO_FAULT, Fault, FaultSource, FaultyTransport
from vacate.sim.invariants.check import breaches
from vacate.sim.invariants.completion import late_cancellations, late_endings
from vacate.sim.invariants.evictions import concerns_evictions
from vacate.sim.invariants.history import RequestHistory
from vacate.sim.invariants.turns import premature_turn_breaches
from vacate.sim.process import Process, Program
from vacate.sim.run import Sim
from vacate.wire.message import Request
from vacate.wiring.components import (
    ComponentContext,
    ControllerDescriptor,
    component_dependencies,
    component_manager,
)
from vacate.wiring.controllers import enabled

_COLLECTOR = "garbage-collector-controller"
_NEEDED = ("namespace-controller", "controllermanager", _COLLECTOR)

MIXED = parse_feature_gates("EvacuationAPI=true")
SILENCE = 640.0
"""Seconds until an informer has noticed at the latest that its watch has fallen silent, and listed again."""

Wrap = Callable[[str, Transport], Transport]


class _NoFaults:
    """Nothing goes wrong."""

    def fault(self, request: Request) -> Fault:
        return NO_FAULT


def _around(scenario: Scenario) -> list[ControllerDescriptor]:
    needed = [member for member in CONTROLLERS if member.component in _NEEDED]
    return [member for member in needed if scenario.collected or member.component != _COLLECTOR]


class ScenarioCluster:
    """Cluster, controllers and interceptors of a scenario. Enter the world first, then `open`."""

    def __init__(
        self, sim: Sim, scenario: Scenario, *, wrap: Wrap = lambda name, transport: transport
    ) -> None:
        self.scenario = scenario
        self.fault_plans = {
            # The name of the stream stays as it is: the kept seeds draw from it.
            name: FaultPlan(scenario.fault_rates, sim.stream(f"faults of {name}"))
            for name in (*scenario.processes, *REQUESTERS)
        }
        self.processes: dict[str, Process] = {}
        self.starts: list[float] = []  # of the managers
        self.problems: list[str] = []  # what the interceptors themselves found wrong
        # From when on a request must end as soon as its pod does; in peaceful times from the beginning.
        self.calm_at = 0.0 if scenario.peaceful else math.inf
        self._wrap = wrap
        self._busy: dict[str, asyncio.Lock] = {}
        self.world = World(
            sim,
            WorldSettings(
                nodes=len(NODES),
                node=NodeSettings(heartbeat_seconds=1000.0),
                schedulers=(),
                controllers=_around(scenario),
                evictions=(),
                plans=self._plan,
                skews=scenario.skews,
                gates=MIXED if scenario.apis else FeatureGates(),
            ),
        )
        self.requesters = {name: self._requester(sim, name) for name in REQUESTERS}
        self.audit = self.world.network.audit = Audit(sim.loop.time, concerns_evictions)

    async def open(self) -> None:
        """Start all processes; faults come later, so that all are running."""
        for fault_plan in self.fault_plans.values():
            fault_plan.active = False
        for name in managers(self.scenario.managers):
            self.processes[name] = self.world.add(name, self._manager(name), EVICTION_CONTROLLER)
        for name in self.scenario.by_sdk:
            self.processes[name] = self.world.add(name, self._interceptor(name), ADMIN)
        for process in self.processes.values():
            await process.start()
        for fault_plan in self.fault_plans.values():
            fault_plan.active = True

    def breaches(self) -> list[str]:
        """Everything that went against the rules so far."""
        histories = [RequestHistory(self.world.server.history, one) for one in self.scenario.dialects]
        found = list(breaches(histories, self.audit.heard, managers(self.scenario.managers)))
        for history in histories:
            found += late_endings(history, self.calm_at)
            found += late_cancellations(history, self.calm_at)
            found += premature_turn_breaches(history, self.starts) if self.scenario.managers == 1 else ()
        return [*self.problems, *found]

    async def crash(self, name: str, down: float) -> None:
        """Let a process die, and come back after a while."""
        async with self._busy.setdefault(name, asyncio.Lock()):
            await self.world.restart(self.processes[name], down)

    def calm(self) -> None:
        """No faults, and no process is cut off. Watches that fell silent before are noticed after a while."""
        self.calm_at = min(self.calm_at, self.world.sim.loop.time() + SILENCE)
        for name, fault_plan in self.fault_plans.items():
            fault_plan.active = False
            self.world.network.mend(name)

    def _requester(self, sim: Sim, name: str) -> Requester:
        """A requester, over a link with the same faults as all."""
        link = FaultyTransport(self.world.network.link(name, ADMIN), self.fault_plans[name], sim.clock)
        clock = sim.skewed_clock(self.scenario.skews.get(name, 0.0))
        dialect = self.scenario.apis.get(name, EVICTION_REQUEST)
        entropy = sim.stream(name)
        return Requester(
            Client(link), name, namespace=NAMESPACE, clock=clock, entropy=entropy, dialect=dialect
        )

    def _plan(self, name: str) -> FaultSource:
        return self.fault_plans.get(name, _NoFaults())

    def _manager(self, name: str) -> Build:
        def build(transport: Transport, around: ComponentContext) -> Program:
            self.starts.append(self.world.sim.loop.time())
            alone = replace(around, metrics=Metrics())
            watched = EvictionObserver(
                name, self._wrap(name, transport), self.world.sim.loop.time, self.problems
            )
            if self.scenario.elected:
                return Candidate(watched, alone, name)
            return component_manager(
                watched, "evictionrequest-controller", enabled(alone.gates), alone, PROJECTIONS
            )

        return build

    def _interceptor(self, name: str) -> Build:
        make = sdk_controller if self.scenario.by_sdk[name] else RawController
        dialects = self.scenario.dialects

        def build(transport: Transport, around: ComponentContext) -> Manager:
            alone = replace(around, metrics=Metrics())
            deps, recorder = component_dependencies(self._wrap(name, transport), name, alone)
            calls = Calls(name, self.problems)
            controllers = [
                make(name, deps, lambda pod: self._behaviour(name, pod), calls, one) for one in dialects
            ]
            return Manager(deps.informers, controllers, runnables=[recorder])

        return build

    def _behaviour(self, interceptor: str, pod: str) -> Behaviour:
        return self.scenario.behaviours[interceptor, pod]
