"""Vacate's own pods on a node that is drained: their budget holds the second until the first is back."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.maintenances import drain, phase, row
from support.simulated.workloads import history
from vacate.api.installednames import WEBHOOK
from vacate.api.kinds import DEPLOYMENTS, NAMESPACES, NODEMAINTENANCES, NODES, PODDISRUPTIONBUDGETS
from vacate.api.objects import Obj
from vacate.install.manifests.deployments import webhook
from vacate.install.settings import Settings
from vacate.sim.cluster import World
from vacate.sim.history import health
from vacate.testing import namespace

pytestmark = pytest.mark.sim

OWN = Settings().namespace
NAME = "app.kubernetes.io/component"
OTHERS = ("node-2", "node-3")


def test_both_copies_of_the_webhook_leave_a_node_one_after_the_other_and_the_wait_is_explained() -> None:
    async def body(world: World) -> None:
        await world.client.create(NAMESPACES, namespace(OWN))
        for name in OTHERS:
            await world.client.patch(NODES, name, {"spec": {"unschedulable": True}})
        deployment, budget = (_made(kind) for kind in ("Deployment", "PodDisruptionBudget"))
        await world.client.create(PODDISRUPTIONBUDGETS, budget, OWN)
        await world.client.create(DEPLOYMENTS, deployment, OWN)
        await world.until(lambda: [one["spec"].get("nodeName") for one in _ready(world)] == ["node-1"] * 2)
        for name in OTHERS:
            await world.client.patch(NODES, name, {"spec": {"unschedulable": None}})
        await drain(world, "node-1")
        await world.until(lambda: phase(world) == "Drained" and len(_ready(world)) == 2, 60.0)
        counts = [count for _, count in health(world.server.log.records.values(), OWN, NAME, "webhook")]
        assert min(counts[counts.index(2) :]) == 1
        held = [
            blocker
            for _, one in history(world, NODEMAINTENANCES)
            for blocker in one.get("status", {}).get("blockers", [])
        ]
        assert {(one["kind"], one["name"]) for one in held} == {("DisruptionBudget", WEBHOOK)}
        assert row(world, "node-1")["podsEvicted"] == 2

    in_world(body, nodes=3)


def _made(kind: str) -> Obj:
    (found,) = [one for one in webhook(Settings()) if one["kind"] == kind]
    return found


def _ready(world: World) -> list[Obj]:
    return world.healthy_pods(OWN)
