"""A plan, and then the drain itself in the cluster that was read: verdict, blockers and time agree."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import pytest

from vacate.api.kinds import (
    DAEMONSETS,
    DEPLOYMENTS,
    NODEMAINTENANCES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    STATEFULSETS,
    Kind,
)
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
from vacate.testing.builders import daemonset, deployment, pdb, pod, statefulset
from vacate.wiring.components import ComponentContext, component_dependencies

pytestmark = [pytest.mark.sim, pytest.mark.timeout(300)]

NODES_OF_THE_DRAIN = ("node-1", "node-2")
ZONE = "topology.kubernetes.io/zone"
BACKUP = "backup.example.com"
MOVING: dict[str, Any] = {"metadata": {"annotations": {"vacate.dev/move-before-eviction": "true"}}}


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Objects of a cluster of three nodes, options of the drain, and what it comes to."""

    objects: tuple[tuple[Kind, Obj], ...]
    verdict: Verdict
    spec: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    blockers: frozenset[str] = frozenset()
    interceptors: Mapping[str, float | None] = dataclasses.field(
        default_factory=dict
    )  # seconds; None: silent


def requesting(cpu: str) -> Obj:
    requests = {"resources": {"requests": {"cpu": cpu}}}
    return {"containers": [{"name": "main", "image": "registry.example/app:1", **requests}]}


def template(app: str, spec: Obj) -> Obj:
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def with_volume(name: str, zone: str) -> tuple[tuple[Kind, Obj], ...]:
    """A Deployment of one, whose volume can be reached from one zone only."""
    size, modes = {"storage": "1Gi"}, ["ReadWriteOnce"]
    term = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
    reach = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
    volume = {
        "metadata": {"name": name},
        "spec": {
            "capacity": size,
            "accessModes": modes,
            "hostPath": {"path": "/data"},
            "nodeAffinity": reach,
            "storageClassName": "",
        },
    }
    claim = {
        "metadata": {"name": name},
        "spec": {
            "accessModes": modes,
            "volumeName": name,
            "storageClassName": "",
            "resources": {"requests": size},
        },
    }
    source = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    spec = {**requesting("1"), "volumes": [source]}
    return (
        (PERSISTENTVOLUMES, volume),
        (PERSISTENTVOLUMECLAIMS, claim),
        (DEPLOYMENTS, deployment(name, replicas=1, template=template(name, spec))),
    )


def placed(node: str) -> Obj:
    """On this node as long as it takes pods, and on any other one then."""
    prefers = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    terms = [{"weight": 100, "preference": prefers}]
    return {
        "spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}
    }


def apart(app: str) -> Obj:
    """One pod for each node."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"spec": {"affinity": {"podAntiAffinity": required}}}


def prepared() -> Obj:
    return {"spec": {"evictionInterceptors": [{"name": BACKUP}]}}


def taking(*, start: int, stop: int) -> Obj:
    seconds = {"sim.vacate.dev/start-seconds": str(start), "sim.vacate.dev/stop-seconds": str(stop)}
    return {"metadata": {"annotations": seconds}}


SCENARIOS = {
    "room within the budget": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3)), (PODDISRUPTIONBUDGETS, pdb("web", min_available=2))),
        Verdict.FINISHES,
    ),
    "two nodes at a time": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=6)), (PODDISRUPTIONBUDGETS, pdb("web", min_available=5))),
        Verdict.FINISHES,
        {"maxNodes": 2},
    ),
    "a budget that never allows an eviction": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3)), (PODDISRUPTIONBUDGETS, pdb("web", min_available=3))),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "the same, moved before eviction": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3, **MOVING)),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=3)),
        ),
        Verdict.FINISHES,
    ),
    "members of a StatefulSet": Scenario(
        ((STATEFULSETS, statefulset("db", replicas=3)), (PODDISRUPTIONBUDGETS, pdb("db", min_available=2))),
        Verdict.FINISHES,
    ),
    "a pod that nothing re-creates": Scenario(
        ((PODS, pod("lone", spec={"nodeName": "node-1"})),),
        Verdict.BLOCKS,
        blockers=frozenset({"UnmanagedPod"}),
    ),
    "no room": Scenario(
        ((DEPLOYMENTS, deployment("big", replicas=3, template=template("big", requesting("5")))),),
        Verdict.LACKS_ROOM,
    ),
    "a share of the pods may be away": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=6)),
            (PODDISRUPTIONBUDGETS, pdb("web", max_unavailable="34%")),
        ),
        Verdict.FINISHES,
        {"maxNodes": "100%"},
    ),
    "a single replica without a budget": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=1, template=placed("node-1"))),), Verdict.FINISHES
    ),
    "a budget that needs both pods of one node": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=2, template=placed("node-1"))),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=2)),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "two budgets for one pod": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3)),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=1)),
            (PODDISRUPTIONBUDGETS, pdb("all", min_available=1, selector={"app": "web"})),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "a pod that nothing re-creates, evicted all the same": Scenario(
        ((PODS, pod("lone", spec={"nodeName": "node-1"})),),
        Verdict.FINISHES,
        {"pods": {"unmanagedPods": "Evict"}},
    ),
    "local data": Scenario(
        (
            (
                DEPLOYMENTS,
                deployment(
                    "web", replicas=3, template={"spec": {"volumes": [{"name": "a", "emptyDir": {}}]}}
                ),
            ),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"LocalData"}),
    ),
    "pods of a DaemonSet": Scenario(
        ((DAEMONSETS, daemonset("logs")),), Verdict.BLOCKS, blockers=frozenset({"DaemonSetPod"})
    ),
    "pods of a DaemonSet, left alone": Scenario(
        ((DAEMONSETS, daemonset("logs")), (DEPLOYMENTS, deployment("web", replicas=3))),
        Verdict.FINISHES,
        {"pods": {"daemonSetPods": "Ignore"}},
    ),
    "lower priorities first": Scenario(
        (
            (PRIORITYCLASSES, {"metadata": {"name": "high"}, "value": 1000}),
            (
                DEPLOYMENTS,
                deployment("db", replicas=3, template={"spec": {"priorityClassName": "high"}}),
            ),
            (DEPLOYMENTS, deployment("web", replicas=3)),
        ),
        Verdict.FINISHES,
        {"order": "StrictPriority"},
    ),
    "one zone at a time": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=6)),),
        Verdict.FINISHES,
        {"maxNodes": 2, "topologyKey": ZONE},
    ),
    "pods that keep apart": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3, template=apart("web"))),), Verdict.LACKS_ROOM
    ),
    "pods that keep apart, with a budget": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3, template=apart("web"))),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=2)),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "no room to move before eviction": Scenario(
        (
            (DEPLOYMENTS, deployment("big", replicas=3, template=template("big", requesting("5")), **MOVING)),
            (PODDISRUPTIONBUDGETS, pdb("big", min_available=3)),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"Replacement"}),
    ),
    "an interceptor that prepares each pod": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3, template=prepared())),),
        Verdict.FINISHES,
        interceptors={BACKUP: 20.0},
    ),
    "an interceptor that never answers": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=2, template=prepared())),),
        Verdict.FINISHES,
        {"maxNodes": 2, "heartbeatDeadlineSeconds": 600},
        interceptors={BACKUP: None},
    ),
    "pods that start slowly behind a budget": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3, template=taking(start=20, stop=10))),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=2)),
        ),
        Verdict.FINISHES,
    ),
    "a volume in the zone of the only node": Scenario(with_volume("db", "zone-a"), Verdict.LACKS_ROOM),
    "a volume in another zone": Scenario(with_volume("db", "zone-c"), Verdict.FINISHES),
}


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
    chosen = PlanOptions(NODES_OF_THE_DRAIN, dict(scenario.spec), scenario.interceptors)
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
