"""Pods, a policy, and agents that misbehave, for tests of fencing in a simulated cluster."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from vacate.api.kinds import EVENTS, FENCINGPOLICIES, NODES, PODS
from vacate.api.objects import Obj
from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.controllers.fencing.controller import build
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.errors import AlreadyExists
from vacate.fencing.agents import Agents
from vacate.kube.nodes import OUT_OF_SERVICE
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.transport import RequestFaultRates
from vacate.sim.fenceagents import Behaviour, SimulatedAgents
from vacate.sim.invariants.podprocesses import PodProcesses
from vacate.sim.process import Process
from vacate.sim.run import Sim, run_sim
from vacate.testing import pod
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import CONTROLLERS

SOON = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    for key in ("unreachable", "not-ready")
]
LOST = "node-1"


class Fenced:
    """A world with a policy, agents, and a check of all processes after every commit."""

    def __init__(self, world: World, agents: SimulatedAgents, managers: list[Process]) -> None:
        self.world = world
        self.agents = agents
        self.managers = managers
        self.breaches: list[str] = []
        self.identities: tuple[str, ...] = ()

    @property
    def pool(self) -> Any:
        """The nodes."""
        return self.world.pool

    async def policy(self, **spec: Any) -> None:
        """Create the policy."""
        given = {"unreachableSeconds": 30, "agent": {"http": {"url": "https://bmc.example"}}, **spec}
        await self.world.client.create(FENCINGPOLICIES, {"metadata": {"name": "rack"}, "spec": given})

    async def pods(self, *names: str, node: str = LOST) -> None:
        """Pods on a node, which are replaced as soon as their objects are gone, and not before."""
        for name in names:
            await self.world.client.create(PODS, _member(name, node), "default")
        self.identities += names
        await self.world.until(lambda: len(self.world.healthy_pods()) == len(self.identities), 120.0)

    def row(self, node: str = LOST) -> Obj:
        """What the policy's status says about a node."""
        found = self.world.find(FENCINGPOLICIES, "rack") or {}
        rows = found.get("status", {}).get("nodes") or []
        return next((row for row in rows if row["name"] == node), {})

    def phase(self, node: str = LOST) -> str:
        """The phase of a node; empty where the policy does not name it."""
        return str(self.row(node).get("phase", ""))

    def condition(self, type_: str) -> str:
        """A condition of the policy."""
        found = self.world.find(FENCINGPOLICIES, "rack") or {}
        conditions = found.get("status", {}).get("conditions") or []
        return next((str(one["status"]) for one in conditions if one["type"] == type_), "")

    def released(self, node: str = LOST) -> bool:
        """Whether the node has the taint that releases its pods."""
        found = self.world.find(NODES, node) or {}
        return any(one["key"] == OUT_OF_SERVICE for one in found.get("spec", {}).get("taints") or [])

    def events(self) -> list[str]:
        """The reasons of all Events about the policy."""
        found = self.world.objects(EVENTS)
        return [one["reason"] for one in found if one["involvedObject"]["kind"] == "FencingPolicy"]

    def asked(self, action: str) -> list[str]:
        """For which nodes the agents were asked to do that."""
        return [node for done, node in self.agents.calls if done == action]

    def places(self) -> dict[str, str]:
        """Where the pods are, those that are not being deleted."""
        return {
            one["metadata"]["name"]: one["spec"].get("nodeName", "")
            for one in self.world.objects(PODS)
            if not one["metadata"].get("deletionTimestamp")
        }

    async def replaced(self, timeout: float = 900.0) -> None:
        """Every identity runs, none of them on the lost node."""
        world = self.world

        def done() -> bool:
            healthy = [one["spec"]["nodeName"] for one in world.healthy_pods()]
            return len(healthy) == len(self.identities) and LOST not in healthy

        await world.until(done, timeout, "all identities run elsewhere")


def _member(name: str, node: str = "") -> Obj:
    spec: Obj = {"tolerations": SOON}
    if node:
        spec["nodeName"] = node
    return pod(name, spec=spec)


async def stateful_set(made: Fenced) -> None:
    """What a StatefulSet relies on: a pod is replaced as soon as its object is gone, and not before."""
    client = made.world.client_of("stateful")
    while True:
        for name in made.identities:
            if made.world.find(PODS, name, "default") is None:
                with contextlib.suppress(AlreadyExists):
                    await client.create(PODS, _member(name), "default")
        await made.world.sim.clock.sleep(1)


async def watch_processes(made: Fenced) -> None:
    """Look after each commit."""
    judging = PodProcesses(made.pool.machines)
    while True:
        made.breaches += judging.look(made.world.objects(PODS), made.world.sim.clock.now())
        await made.world.server.changed()


def fenced(
    body: Callable[[Fenced], Awaitable[None]],
    seed: int = 1,
    *,
    nodes: int = 4,
    controllers: int = 1,
    behaviours: dict[str, Behaviour] | None = None,
    chances: RequestFaultRates | None = None,
    skews: dict[str, float] | None = None,
    around: Callable[[Transport], Transport] | None = None,
    wrap: Callable[[SimulatedAgents], Agents] = lambda agents: agents,
    clock: Callable[[Sim], Clock] | None = None,
    beside_it: Sequence[str] = (),
    watch: Callable[[Fenced], Coroutine[Any, Any, None]] = watch_processes,
) -> Fenced:
    """Run the body in a world with so many fencing controllers at once; no identity may ever run twice.

    Other controllers of Vacate run beside it where they are named. `watch` follows the processes, `clock`
    is that of the fencing controllers.
    """
    found: list[Fenced] = []

    async def main(sim: Sim) -> None:
        others = [one for one in CONTROLLERS if one.component in beside_it]
        settings = WorldSettings(
            nodes=nodes,
            evictions=others,
            chances=chances or RequestFaultRates(),
            skews=skews or {},
            measured=True,
        )
        async with World(sim, settings) as world:
            agents = SimulatedAgents(lambda: world.pool, sim.clock, dict(behaviours or {}))
            wrapped = wrap(agents)
            managers = [
                await world.start(
                    f"fencing-{number}", builder(wrapped, around, clock and clock(sim)), EVICTION_CONTROLLER
                )
                for number in range(controllers)
            ]
            made = Fenced(world, agents, managers)
            found.append(made)
            async with beside(watch(made), stateful_set(made)):
                await body(made)

    run_sim(main, seed, limit=7 * 86400.0)
    assert found[0].breaches == []
    return found[0]


def builder(
    agents: Agents, around: Callable[[Transport], Transport] | None = None, clock: Clock | None = None
) -> Any:
    """What one life of a fencing controller is made by."""
    row = next(one for one in CONTROLLERS if one.component == "fencing-controller")
    mine = replace(row, build=partial(build, agents=agents))

    def make(link: Transport, environment: ComponentContext) -> Any:
        wrapped = around(link) if around else link
        environment = environment if clock is None else replace(environment, clock=clock)
        return component_manager(wrapped, "vacate-manager", [mine], environment, PROJECTIONS)

    return make


@contextlib.asynccontextmanager
async def beside(*work: Any) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
