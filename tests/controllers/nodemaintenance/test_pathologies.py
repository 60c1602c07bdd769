"""Workloads and budgets that other drains get stuck on: each is drained, or reported with a remedy."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import running_pod
from support.simulated.maintenances import drain, gone, on_node, phase, status, web
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS, PRIORITYCLASSES
from vacate.api.objects import Obj
from vacate.sim.cluster import World
from vacate.testing import pdb, pod

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]


def drained_by(*nodes: str, **spec: Any) -> Any:
    """A drain of these nodes, and its end."""

    async def run(world: World) -> None:
        await drain(world, *nodes, **spec)
        await world.until(lambda: phase(world) == "Drained")

    return run


async def blocked(world: World, node: str) -> Obj:
    """A drain of the node that cannot go on, and what holds it."""
    await drain(world, node)
    await world.until(lambda: bool(status(world).get("blockers")))
    (held,) = status(world)["blockers"]
    return dict(held)


@pytest.mark.parametrize(
    "budget",
    [
        pytest.param({"min_available": 1}, id="minAvailable 1 over one replica"),
        pytest.param({"max_unavailable": 0}, id="maxUnavailable 0"),
        pytest.param({"min_available": "100%"}, id="minAvailable 100%"),
    ],
)
def test_a_budget_that_never_allows_an_eviction_is_named_with_the_remedy(budget: dict[str, Any]) -> None:
    async def body(world: World) -> None:
        await world.client.create(
            PODDISRUPTIONBUDGETS, pdb("web", selector={"app": "web"}, **budget), "default"
        )
        await web(world, 1)
        (only,) = world.healthy_pods()
        held = await blocked(world, only["spec"]["nodeName"])
        assert (held["kind"], held["name"]) == ("DisruptionBudget", "web")
        assert held["remedy"] == (
            "disruption budget web needs its only pod healthy and never allows an eviction: start a "
            "replacement first: kubectl annotate deployment web vacate.dev/move-before-eviction=true -n "
            "default; or add replicas or lower what it demands"
        )

    in_world(body)


def test_where_nothing_moves_any_more_the_end_is_not_estimated() -> None:
    async def body(world: World) -> None:
        budget = pdb("web", selector={"app": "web"}, min_available=1)
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        await web(world, 1)
        (only,) = world.healthy_pods()
        node = only["spec"]["nodeName"]
        await running_pod(world, spec={"nodeName": node})
        await blocked(world, node)

        await world.until(lambda: status(world).get("podsEvicted") == 1)
        await world.settle()
        assert status(world)["phase"] == "Blocked"
        assert status(world).get("estimatedFinishTime") is None

    in_world(body)


def test_a_budget_without_pods_holds_nothing() -> None:
    async def body(world: World) -> None:
        budget = pdb("empty", min_available=1, selector={"app": "nothing"})
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        await web(world, 3)
        await drained_by("node-1")(world)
        assert on_node(world, "node-1") == []

    in_world(body)


def test_a_replacement_that_only_fits_the_drained_node_waits_and_does_not_hold_the_drain() -> None:
    """As a StatefulSet's pod with a local volume: it is re-created at once and can only be placed there."""

    async def body(world: World) -> None:
        selector = {"nodeSelector": {"kubernetes.io/hostname": "node-1"}}
        await web(world, 1, template={"spec": selector})
        await drained_by("node-1")(world)
        await world.until(lambda: [one["status"].get("phase") for one in world.objects(PODS)] == ["Pending"])
        assert phase(world) == "Drained"
        await gone(world)
        await world.until(lambda: len(world.healthy_pods()) == 1)

    in_world(body)


def test_failed_pods_that_stay_behind_do_not_hold_the_drain() -> None:
    """As under disk pressure, where controllers leave failed pods behind, again and again."""

    async def body(world: World) -> None:
        await world.client.create(PODS, pod("old", spec={"nodeName": "node-1"}), "default")
        await world.until(lambda: len(world.healthy_pods()) == 1)
        failed = {"status": {"phase": "Failed", "reason": "Evicted"}}
        await world.client.patch(PODS, "old", failed, "default", subresource="status")
        await drained_by("node-1")(world)
        assert on_node(world, "node-1") == ["old"]
        assert status(world)["nodes"][0]["podsIgnored"] == 1

    in_world(body)


def test_clients_end_before_the_storage_that_they_use() -> None:
    async def body(world: World) -> None:
        ended: list[str] = []
        names = ("osd", "client-1", "client-2")
        storage = {
            "apiVersion": PRIORITYCLASSES.api_version,
            "kind": PRIORITYCLASSES.kind,
            "metadata": {"name": "storage"},
            "value": 1000,
        }
        await world.client.create(PRIORITYCLASSES, storage)
        for name, more in (("osd", {"priorityClassName": "storage"}), ("client-1", {}), ("client-2", {})):
            await world.client.create(PODS, pod(name, spec={"nodeName": "node-1", **more}), "default")
        await world.until(lambda: len(world.healthy_pods()) == 3)

        def watch() -> bool:
            there = on_node(world, "node-1")
            ended.extend(one for one in names if one not in there and one not in ended)
            return phase(world) == "Drained"

        await drain(world, "node-1")
        await world.until(watch)
        assert ended[-1] == "osd"

    in_world(body)


def test_no_pod_moves_to_a_node_that_is_drained_next() -> None:
    async def body(world: World) -> None:
        await web(world, 6)
        before = {name: set(on_node(world, name)) for name in ("node-1", "node-2")}
        moved: set[str] = set()

        def watch() -> bool:
            for name, there in before.items():
                moved.update(set(on_node(world, name)) - there)
            return phase(world) == "Drained"

        await drain(world, "node-1", "node-2")
        await world.until(watch)
        assert moved == set()

    in_world(body)
