"""Pods that fit only the node that is drained, as those with local disks do: each drained, or explained."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.maintenances import drain, gone, on_node, phase, ready_pods, status, web
from support.simulated.workloads import history
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.sim.cluster import World
from vacate.testing import pdb, statefulset

pytestmark = pytest.mark.sim


def pinned(node: str) -> Obj:
    """The part of a template that binds pods to a node."""
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


def unscheduled(world: World) -> list[str]:
    """The pods that have no node."""
    found = [one for one in world.objects(PODS) if not one["spec"].get("nodeName")]
    return sorted(one["metadata"]["name"] for one in found)


def test_a_member_of_a_statefulset_that_returns_under_its_name_waits_and_is_not_evicted_again() -> None:
    async def body(world: World) -> None:
        template = {"spec": pinned("node-1")}
        await world.client.create(STATEFULSETS, statefulset("db", replicas=1, template=template), "default")
        await world.until(lambda: len(ready_pods(world, "db")) == 1)
        await drain(world, "node-1")
        await world.until(lambda: phase(world) == "Drained" and unscheduled(world) == ["db-0"])
        await world.settle(600)
        assert (phase(world), on_node(world, "node-1"), unscheduled(world)) == ("Drained", [], ["db-0"])
        ended = {
            one["metadata"]["uid"]
            for _, one in history(world, PODS)
            if "deletionTimestamp" in one["metadata"]
        }
        assert len(ended) == 1
        await gone(world)
        await world.until(lambda: on_node(world, "node-1") == ["db-0"] and len(ready_pods(world, "db")) == 1)

    in_world(body)


def test_a_budget_that_waits_for_a_pod_that_only_the_drained_node_takes_is_explained_by_that_pod() -> None:
    """As with the daemons of a storage system: the first that goes spends the budget for good."""

    async def body(world: World) -> None:
        budget = pdb("osd", max_unavailable=1, selector={"tier": "osd"})
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        for name, where in (("osd-0", "node-1"), ("osd-1", "node-1"), ("osd-2", "node-2")):
            template = {"metadata": {"labels": {"app": name, "tier": "osd"}}, "spec": pinned(where)}
            await web(world, 1, name, template)
        await drain(world, "node-1")
        await world.until(lambda: len(unscheduled(world)) == 1 and _named(world, unscheduled(world)[0]))
        (held,) = status(world)["blockers"]
        (awaited,) = unscheduled(world)
        assert (held["kind"], held["name"]) == ("DisruptionBudget", "osd")
        assert (
            held["message"]
            == "Disruption budget osd needs 2 healthy pods, has 2, and allows 0 disruptions now."
        )
        assert held["remedy"] == (
            f"wait until pod {awaited} of disruption budget osd, not scheduled yet, is healthy; if only "
            "drained nodes fit, add a node that does, or lower what the budget demands"
        )

    in_world(body)


def _named(world: World, pod: str) -> bool:
    return any(pod in one["remedy"] for one in status(world).get("blockers", []))
