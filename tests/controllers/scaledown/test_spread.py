"""Story 5 of the proposal: a scale-down keeps the spread of a Deployment with topology spread constraints."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from support.matrix.place import Refusal
from support.matrix.simulated import Refusals
from support.simulated.clusters import in_world
from support.simulated.deployments import pods
from support.simulated.workloads import events_of, running
from vacate.api.kinds import DEPLOYMENTS, NODES, PODS
from vacate.api.objects import Obj
from vacate.api.workloads import OPT_IN
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.spreadcosts import SPREAD_COST
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

ZONE = "topology.kubernetes.io/zone"
SPREAD: Obj = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
}


def zones(world: World) -> list[int]:
    """How many pods each zone has."""
    labels = {one["metadata"]["name"]: one["metadata"]["labels"][ZONE] for one in world.objects(NODES)}
    found = Counter(labels[pod["spec"]["nodeName"]] for pod in pods(world) if pod["spec"].get("nodeName"))
    return sorted((found[zone] for zone in set(labels.values())), reverse=True)


def costs(world: World) -> list[str]:
    found = [pod["metadata"].get("annotations") or {} for pod in pods(world)]
    return sorted(
        one[SPREAD_COST] for one in found if SPREAD_COST in one and one.get(DELETION_COST) == one[SPREAD_COST]
    )


async def spread(world: World, replicas: int, *, opted_in: bool = True, **more: Any) -> None:
    meta = {"annotations": {OPT_IN: "true"}} if opted_in else {}
    await running(world, "web", replicas, metadata=meta, template={"spec": {**SPREAD, **more}})


async def scale(world: World, replicas: int) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, "default")
    await world.until(
        lambda: len(world.objects(PODS, "default")) == replicas and len(world.healthy_pods()) == replicas
    )


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize("seed", range(6))
def test_the_fullest_zones_give_first(seed: int) -> None:
    async def body(world: World) -> None:
        await spread(world, 6)
        await world.until(lambda: costs(world) == ["-1"] * 3)
        await scale(world, 3)
        assert zones(world) == [1, 1, 1]
        await scale(world, 8)
        await world.until(lambda: len(costs(world)) == 5)
        for count, expected in ((7, [3, 2, 2]), (5, [2, 2, 1]), (4, [2, 1, 1]), (2, [1, 1, 0])):
            await scale(world, count)
            assert zones(world) == expected

    in_world(body, seed=seed, nodes=6)


def test_a_place_that_becomes_free_is_taken_by_one_other_pod() -> None:
    async def body(world: World) -> None:
        await spread(world, 6)
        await world.until(lambda: costs(world) == ["-1"] * 3)
        first = next(
            one for one in pods(world) if SPREAD_COST not in (one["metadata"].get("annotations") or {})
        )
        await world.client.delete(PODS, first["metadata"]["name"], "default")
        await world.until(lambda: first not in pods(world) and len(world.healthy_pods()) == 6)
        await world.until(lambda: costs(world) == ["-1"] * 3)
        await scale(world, 3)
        assert zones(world) == [1, 1, 1]

    in_world(body, nodes=6)


def test_costs_of_others_stay_and_ours_end_with_the_opting_in() -> None:
    async def body(world: World) -> None:
        await spread(world, 6)
        await world.until(lambda: costs(world) == ["-1"] * 3)
        name = next(one["metadata"]["name"] for one in pods(world))
        user = {"metadata": {"annotations": {DELETION_COST: "100"}}}
        await world.client.patch(PODS, name, user, "default")
        await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": {OPT_IN: None}}}, "default")
        await world.until(lambda: costs(world) == [])
        found = world.find(PODS, name, "default")
        assert found is not None
        assert found["metadata"]["annotations"][DELETION_COST] == "100"

    in_world(body, nodes=6)


def test_nothing_is_written_for_workloads_that_have_not_opted_in() -> None:
    async def body(world: World) -> None:
        await spread(world, 6, opted_in=False)
        await world.sim.clock.sleep(60)
        assert costs(world) == []

    in_world(body, nodes=6)


def test_a_refused_cost_is_shown_and_written_once_it_is_let() -> None:
    async def body(world: World) -> None:
        refusals = Refusals()
        world.network.audit = refusals
        refusals.active.append(Refusal("policy", "PATCH", PODS))
        await spread(world, 4)
        (owner,) = {pod["metadata"]["ownerReferences"][0]["name"] for pod in pods(world)}
        await world.until(lambda: events_of(world, owner, "WriteRefused") != [])
        (event,) = events_of(world, owner, "WriteRefused")
        assert "Policy 'company'" in event
        refusals.active.clear()
        await world.until(lambda: costs(world) != [])

    in_world(body)
