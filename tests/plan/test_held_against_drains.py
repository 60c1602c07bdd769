"""A plan, and then the drain itself in the cluster that was read: verdict, blockers and time agree."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import msgspec
import pytest

from support.planned_drains import NODES_OF_THE_DRAIN, SCENARIOS, Scenario
from vacate.api.kinds import NODEMAINTENANCES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.types.nodemaintenance import DRAINED, NodeMaintenance
from vacate.client.transport import Transport
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.plan.forecast import Run, Verdict
from vacate.plan.remedies import commands_of
from vacate.plan.report import Plan, make_plans
from vacate.plan.run import PlanOptions
from vacate.plan.snapshot import Snapshot, read_snapshot
from vacate.runtime.manager import Manager
from vacate.sdk import EvictionContext, Interceptor, interceptor_controllers
from vacate.sim.cluster import World
from vacate.sim.run import Sim, run_sim
from vacate.wiring.components import ComponentContext, component_dependencies

pytestmark = [pytest.mark.sim, pytest.mark.timeout(300)]


@dataclasses.dataclass(frozen=True)
class Drain:
    """What the drain itself came to."""

    drained: bool
    seconds: float
    blockers: frozenset[tuple[str, str]]
    pods_without_room: int


async def _read_and_drain(sim: Sim, scenario: Scenario) -> tuple[Snapshot, Drain]:
    async with World(sim) as world:
        await world.pool.wait_registered()
        for kind, obj in scenario.objects:
            await world.client.create(kind, obj, "default" if kind.namespaced else "")
        await world.until(lambda: world.objects(PODS) and all(map(_runs, world.objects(PODS))))
        await sim.clock.sleep(60)
        await _serve(world, scenario)
        snapshot = await read_snapshot(world.client, sim.clock)
        began = sim.loop.time()
        body = {"metadata": {"name": "drain"}, "spec": {"nodes": [*NODES_OF_THE_DRAIN], **scenario.spec}}
        await world.client.create(NODEMAINTENANCES, body)
        for _ in range(900):
            await sim.clock.sleep(1)
            if _maintenance(world).status.phase == DRAINED:
                break
        seconds, status = sim.loop.time() - began, _maintenance(world).status
        await sim.clock.sleep(30)
        return snapshot, Drain(
            status.phase == DRAINED,
            seconds,
            frozenset((one.kind, one.name) for one in status.blockers),
            sum(not dig(one, "spec", "nodeName") for one in world.objects(PODS)),
        )


async def _serve(world: World, scenario: Scenario) -> None:
    """Start the interceptors of the scenario that answer."""
    serving = [
        Interceptor(name, partial(_take_turn, world, seconds), progress_within=None)
        for name, seconds in scenario.interceptors.items()
        if seconds is not None
    ]

    def build(link: Transport, around: ComponentContext) -> Manager:
        deps, recorder = component_dependencies(link, "interceptors", around)
        return Manager(deps.informers, interceptor_controllers(deps, serving), runnables=[recorder])

    if serving:
        await world.start("interceptors", build, ADMIN)


async def _take_turn(world: World, seconds: float, _context: EvictionContext) -> None:
    await world.sim.clock.sleep(seconds)


def _runs(obj: Obj) -> bool:
    return bool(dig(obj, "status", "phase") == "Running")


def _maintenance(world: World) -> NodeMaintenance:
    return msgspec.convert(world.find(NODEMAINTENANCES, "drain"), NodeMaintenance)


def plan_and_drain(scenario: Scenario, **options: Any) -> tuple[Plan, Drain, Snapshot]:
    snapshot, drain = run_sim(lambda sim: _read_and_drain(sim, scenario), 1)
    chosen = PlanOptions(NODES_OF_THE_DRAIN, dict(scenario.spec), scenario.interceptors, stop=scenario.stop)
    return [*make_plans(snapshot, chosen, **options)][-1], drain, snapshot


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_drain_comes_to_what_was_planned(name: str) -> None:
    scenario = SCENARIOS[name]
    plan, drain, _ = plan_and_drain(scenario, remedies=False)
    run: Run = plan.decisive
    assert plan.outcome.verdict is scenario.verdict
    assert (plan.outcome.verdict is not Verdict.BLOCKS) == drain.drained
    assert {(one.kind, one.name) for one in run.blockers} == drain.blockers
    assert {one.kind for one in run.blockers} == scenario.blockers
    assert len(run.pods_without_room) == drain.pods_without_room
    if drain.drained:
        assert plan.outcome.fastest - 2 <= drain.seconds <= plan.outcome.slowest + 2


@pytest.mark.thorough
def test_a_command_of_a_remedy_does_what_the_plan_says_of_it() -> None:
    """The plan names the opt-in, says that it helps; and with it, the drain in the cluster does finish."""
    plan, drain, snapshot = plan_and_drain(SCENARIOS["a budget that never allows an eviction"], runs=1)
    assert not drain.drained
    assert len(plan.decisive.workloads) == 0
    assert [one.budget for one in plan.decisive.budgets if one.lasting] == ["default/web"]
    opt_in, relaxed, scaled = plan.remedies
    assert opt_in.commands == (
        "kubectl annotate deployment web vacate.dev/move-before-eviction=true -n default",
    )
    assert relaxed.commands[0].startswith("kubectl patch pdb web -n default --type merge -p ")
    assert scaled.commands == ("kubectl scale deployment web --replicas=4 -n default",)
    assert [one.outcome.verdict for one in plan.remedies] == [Verdict.FINISHES] * 3
    _, moved, _ = plan_and_drain(SCENARIOS["the same, moved before eviction"], runs=1)
    assert moved.drained
    assert not commands_of(plan.decisive.blockers[0], dataclasses.replace(snapshot, objects={}))


def test_several_numbers_of_nodes_are_compared() -> None:
    plan, _, _ = plan_and_drain(SCENARIOS["room within the budget"], max_nodes=(1, 2), runs=1)
    one, two = plan.compared
    assert (one.max_nodes, two.max_nodes) == (1, 2)
    assert two.outcome.slowest <= one.outcome.slowest
