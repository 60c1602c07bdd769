"""One seeded history of faults: what pod safety must be tested under, in random combinations.

Nodes are cut off, crash or lose their agent; fence agents misbehave; two fencing controllers run at once; any
component crashes; clocks differ; messages are lost, late or repeated; people force. What went against the
rules comes back with a timeline.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

from support.fencing_words import SOON, Fenced, beside, builder, judge
from vacate.admission.pods.forcedeletion import GUARD_LABEL
from vacate.api.kinds import NAMESPACES, PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.entropy import Entropy
from vacate.errors import Forbidden, NotFound, OutOfTime, TransportError
from vacate.features import FeatureGates
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.plan import FaultPlan, FaultRates
from vacate.sim.fenceagents import Behaviour, SimulatedAgents
from vacate.sim.run import Sim, run_sim
from vacate.testing import statefulset

NODE_COUNT, MAX_FENCED, STEPS = 5, 2, 10
IDENTITIES = ("db-0", "db-1", "db-2")
# One that speaks of another machine is left out: that node's silence tells, and here that has many causes.
BEHAVIOURS = tuple(one for one in Behaviour if one is not Behaviour.WRONG_MACHINE)
IN_TOUCH = 120.0
"""Seconds: a fence is only right if some other node was in touch so recently."""


@dataclass(slots=True)
class Outcome:
    """What went against the rules, and what happened."""

    breaches: list[str] = field(default_factory=list)
    timeline: list[str] = field(default_factory=list)

    def told(self) -> str:
        """Everything, for people."""
        return "\n".join([*self.breaches, "timeline:", *(f"  {one}" for one in self.timeline)])


class Scenario:
    """One seed."""

    def __init__(self, seed: int, gates: FeatureGates | None = None) -> None:
        self._seed = seed
        self._gates = gates or FeatureGates()
        self.outcome = Outcome()
        self._plans: list[FaultPlan] = []
        self._touched: dict[str, float] = {}

    def play(self) -> Outcome:
        """From beginning to end."""
        try:
            run_sim(self._main, self._seed, limit=7 * 86400.0)
        except OutOfTime as error:
            self.outcome.breaches.append(f"when the faults had stopped, it did not become well: {error}")
        return self.outcome

    async def _main(self, sim: Sim) -> None:
        dice = sim.stream("faults")
        rates = FaultRates(requests=0.02, watches=0.05, delay=2.0, lag=10.0)

        def plan(name: str) -> FaultPlan:
            self._plans.append(FaultPlan(rates, sim.stream(f"faults of {name}")))
            return self._plans[-1]

        skews = {
            name: dice.uniform(-5, 5) for name in ("controllers", "nodes", "fencing-0", "fencing-1", "server")
        }
        settings = WorldSettings(nodes=NODE_COUNT, evictions=(), plans=plan, skews=skews, gates=self._gates)
        async with World(sim, settings) as world:
            agents = SimulatedAgents(lambda: world.pool, sim.clock)
            managers = [
                await world.start(f"fencing-{number}", builder(agents), EVICTION_CONTROLLER)
                for number in range(2)
            ]
            made = Fenced(world, agents, managers)
            made.breaches = self.outcome.breaches
            agents.during = lambda action, node: self._asked(made, action, node)
            label = {"metadata": {"labels": {GUARD_LABEL: "enabled"}}}
            await world.client.patch(NAMESPACES, "default", label)
            await made.policy(maxFenced=MAX_FENCED, powerOn="Automatic", minHealthy="40%")
            async with beside(judge(made), self._watch(made)):
                await world.client.create(STATEFULSETS, _members(), "default")
                await world.until(lambda: len(world.healthy_pods()) == len(IDENTITIES), 900.0, "the start")
                for _ in range(STEPS):
                    await self._fault(made, dice)
                await self._heal(made)

    async def _watch(self, made: Fenced) -> None:
        """After each commit: how many are out of service, and what the policy says."""
        shown: dict[str, str] = {}
        while True:
            out = [name for name in made.pool.machines if made.released(name)]
            if len(out) > MAX_FENCED:
                self._breach(made, f"{len(out)} nodes are out of service, and {MAX_FENCED} may be: {out}")
            for name, machine in made.pool.machines.items():
                if machine.active:
                    self._touched[name] = made.world.sim.loop.time()
                phase = made.phase(name)
                if shown.get(name, "") != phase:
                    shown[name] = phase
                    self._note(made, f"{name}: {phase or 'nothing is under way'}")
            await made.world.server.changed()

    def _asked(self, made: Fenced, action: str, node: str) -> None:
        behaviour = made.agents.behaviours.get(node, Behaviour.WORKS)
        self._note(made, f"the agent of {node} is asked for {action} ({behaviour})")
        now = made.world.sim.loop.time()
        others = [at for name, at in self._touched.items() if name != node]
        if action == "off" and not any(now - at < IN_TOUCH for at in others):
            self._breach(made, f"{node} is switched off although no other node was in touch")

    async def _fault(self, made: Fenced, dice: Entropy) -> None:
        world, pool = made.world, made.pool
        name = f"node-{1 + int(dice.uniform(0, NODE_COUNT))}"
        kind = int(dice.uniform(0, 13))
        self._note(made, f"fault {kind} {name}")
        match kind:
            case 0 | 1 | 2:
                pool.isolate(name)
            case 3:
                pool.crash(name)
            case 4:
                if pool.machines[name].up:
                    pool.stop(name)
            case 5:
                await self._mend(made, name)
            case 6 | 7:
                made.agents.behaviours[name] = BEHAVIOURS[int(dice.uniform(0, len(BEHAVIOURS)))]
            case 8:
                await world.restart(made.managers[int(dice.uniform(0, 2))], dice.uniform(0.1, 60))
            case 9:
                await world.restart(world.controllers, dice.uniform(0.1, 60))
            case 10:
                await world.restart_server(dice.uniform(0.1, 20))
            case 11:
                # A person, or a controller, who does not confirm.
                with contextlib.suppress(Forbidden, NotFound, TransportError):
                    identity = IDENTITIES[int(dice.uniform(0, len(IDENTITIES)))]
                    await world.client.delete(PODS, identity, "default", grace_period_seconds=0)
            case _:
                for one in pool.machines:
                    pool.isolate(one)
        await world.sim.clock.sleep(dice.uniform(10, 200))

    async def _mend(self, made: Fenced, name: str) -> None:
        machine = made.pool.machines[name]
        if not machine.up:
            made.pool.start(name)
        made.pool.rejoin(name)

    async def _heal(self, made: Fenced) -> None:
        """All faults stop: everything must end well."""
        self._note(made, "all faults stop")
        for plan in self._plans:
            plan.active = False
        made.agents.behaviours.clear()
        for name in made.pool.machines:
            await self._mend(made, name)
        world = made.world
        await world.until(
            lambda: (
                len(world.healthy_pods()) == len(IDENTITIES)
                and not any(made.phase(name) or made.released(name) for name in made.pool.machines)
            ),
            6 * 3600.0,
            "all identities run and no node is fenced",
        )

    def _note(self, made: Fenced, text: str) -> None:
        self.outcome.timeline.append(f"{made.world.sim.loop.time():8.1f} s  {text}")

    def _breach(self, made: Fenced, text: str) -> None:
        if text not in self.outcome.breaches:
            self.outcome.breaches.append(text)
            self._note(made, f"BREACH: {text}")


def _members() -> Obj:
    """A StatefulSet whose pods are deleted soon after their node is lost."""
    template = {"spec": {"tolerations": SOON}}
    spec = {"podManagementPolicy": "Parallel"}
    return statefulset("db", replicas=len(IDENTITIES), template=template, spec=spec)


def breaches(seed: int, **settings: Any) -> Outcome:
    """SimRequest one seed."""
    return Scenario(seed, **settings).play()
