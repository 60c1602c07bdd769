"""Never twice: nodes are cut off, crash and come back, and people force; no identity ever runs twice.

With any one of the safety rules taken out, some seed shows the second copy.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from collections.abc import Sequence

import pytest

from support.effort import seeds
from support.simulated.workloads import in_world
from vacate.admission.pods.forcedeletion import GUARD_LABEL
from vacate.api.kinds import NAMESPACES, NODES, PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import Node, Pod, StatefulSet
from vacate.embedded.controllers.controllerrevisions.history import Recorded
from vacate.embedded.controllers.podgc import controller as podgc
from vacate.embedded.controllers.podgc.controller import Reason, reason_to_remove
from vacate.embedded.controllers.statefulset import controller as statefulset_controller
from vacate.embedded.controllers.statefulset import plan as plan_of_members
from vacate.embedded.controllers.statefulset.controller import PodWriter
from vacate.embedded.controllers.statefulset.identity import pod_name
from vacate.embedded.controllers.statefulset.plan import Creation
from vacate.entropy import Entropy
from vacate.errors import Conflict, Forbidden, NotFound, VacateError
from vacate.features import FeatureGates
from vacate.kube.nodes import readiness
from vacate.sim.cluster import World
from vacate.sim.invariants.podprocesses import PodProcesses
from vacate.testing import statefulset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

IDENTITIES = ("db-0", "db-1", "db-2")
NODE_NAMES = ("node-1", "node-2", "node-3")
OUT = {"key": "node.kubernetes.io/out-of-service", "value": "fenced", "effect": "NoExecute"}
SOON = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    for key in ("unreachable", "not-ready")
]
STEPS = 14
ALL_SEEDS = range(8)
SEEDS = range(seeds("VACATE_SAFETY_SEEDS", len(ALL_SEEDS)))


def run(seed: int, gates: FeatureGates | None = None, policy: str = "Parallel") -> list[str]:
    """A seeded history of faults; what went against the rules."""
    found: list[str] = []

    async def body(world: World) -> None:
        label = {"metadata": {"labels": {GUARD_LABEL: "enabled"}}}
        await world.client.patch(NAMESPACES, "default", label)
        processes = PodProcesses(world.pool.machines)
        looking = asyncio.ensure_future(_watch_processes(world, processes, found))
        try:
            await world.client.create(STATEFULSETS, members(policy), "default")
            await world.until(lambda: len(world.healthy_pods()) == len(IDENTITIES), timeout=120)
            entropy = world.sim.stream("faults")
            for _ in range(STEPS):
                await _fault(world, entropy)
            for name in NODE_NAMES:
                await _heal(world, name)
            await world.until(lambda: len(world.healthy_pods()) == len(IDENTITIES), timeout=900)
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    in_world(body, seed, gates=gates or FeatureGates())
    return found


async def _watch_processes(world: World, processes: PodProcesses, found: list[str]) -> None:
    while True:
        found += processes.look(world.objects(PODS), world.sim.clock.now())
        await world.server.changed()


def members(policy: str) -> Obj:
    """A StatefulSet whose pods are deleted soon after their node is lost."""
    template = {"spec": {"tolerations": SOON}}
    spec = {"podManagementPolicy": policy}
    return statefulset("db", replicas=len(IDENTITIES), template=template, spec=spec)


async def _fault(world: World, entropy: Entropy) -> None:
    name = NODE_NAMES[int(entropy.uniform(0, 3))]
    identity = IDENTITIES[int(entropy.uniform(0, 3))]
    match int(entropy.uniform(0, 6)):
        case 0 | 1:
            world.pool.isolate(name)
        case 2:
            await _heal(world, name)
        case 3:
            await _fence(world, name)
        case 4:
            # A person, or a controller, who does not confirm.
            with contextlib.suppress(Forbidden, NotFound):
                await world.client.delete(PODS, identity, "default", DeleteOptions(grace_period_seconds=0))
        case _:
            # A Node object is deleted by mistake; the node registers again, or is back before the quarantine.
            if not world.pool.machines[name].isolated and world.pool.machines[name].up:
                world.pool.isolate(name)
                with contextlib.suppress(NotFound):
                    await world.client.delete(NODES, name)
                await world.sim.clock.sleep(entropy.uniform(1, 30))
                world.pool.rejoin(name)
    await world.sim.clock.sleep(entropy.uniform(10, 90))


async def _fence(world: World, name: str) -> None:
    """Power off first; only then is the node declared out of service."""
    if world.pool.machines[name].up:
        world.pool.crash(name)
    with contextlib.suppress(NotFound, Conflict):
        await world.client.patch(NODES, name, {"spec": {"taints": [OUT]}})


async def _heal(world: World, name: str) -> None:
    try:
        found = await world.client.get(NODES, name)
        kept = [one for one in found["spec"].get("taints") or [] if one["key"] != OUT["key"]]
        await world.client.patch(NODES, name, {"spec": {"taints": kept or None}})
    except VacateError:
        pass
    if not world.pool.machines[name].up:
        world.pool.start(name)
    world.pool.rejoin(name)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(
    ("policy", "seed"),
    [*(("Parallel", seed) for seed in SEEDS), *(("OrderedReady", seed) for seed in SEEDS[::3])],
)
def test_no_identity_runs_twice(policy: str, seed: int) -> None:
    assert run(seed, policy=policy) == []


def _some_seed_fails(gates: FeatureGates | None = None) -> bool:
    return any(run(seed, gates) for seed in ALL_SEEDS)


def test_without_the_guard_some_seed_fails() -> None:
    assert _some_seed_fails(FeatureGates((("PodForceDeleteGuard", False),)))


def test_if_pod_gc_took_silence_for_the_end_some_seed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def eager(one: Pod, node: Node | None) -> Reason | None:
        if one.terminating and node is not None and readiness(node) == "Unknown":
            return Reason.OUT_OF_SERVICE
        return reason_to_remove(one, node)

    monkeypatch.setattr(podgc, "reason_to_remove", eager)
    assert _some_seed_fails()


def test_without_the_quarantine_some_seed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(podgc, "QUARANTINE", dt.timedelta(0))
    assert _some_seed_fails()


def test_if_a_member_were_replaced_while_its_old_pod_exists_some_seed_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A controller that takes a terminating pod for gone, and pushes it out of its name's way."""

    def eager(
        one: StatefulSet, update: str, pods: Sequence[Pod], now: dt.datetime
    ) -> plan_of_members.StatefulSetPlan:
        return plan_members(one, update, [pod for pod in pods if not pod.terminating], now)

    async def create(writer: PodWriter, one: StatefulSet, creation: Creation, known: Recorded) -> object:
        name = pod_name(one, creation.ordinal)
        with contextlib.suppress(NotFound):
            await writer._deps.client.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=0))
        return await make(writer, one, creation, known)

    plan_members, make = plan_of_members.plan_members, PodWriter._create
    monkeypatch.setattr(statefulset_controller, "plan_members", eager)
    monkeypatch.setattr(PodWriter, "_create", create)
    assert _some_seed_fails()
