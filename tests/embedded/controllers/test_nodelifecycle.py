"""Nodes that fall silent, and what becomes of their pods."""

from __future__ import annotations

import pytest

from support.simulated.workloads import condition_of, created, in_world, node_of, running, writes
from vacate.api.kinds import NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.embedded.apiserver.printers.podstatus import summarise
from vacate.sim.cluster import World
from vacate.testing import pdb, pod

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]


def ready(world: World, name: str = "node-1") -> str:
    return condition_of(created(world, NODES, name, ""), "Ready")


def taints(world: World, name: str = "node-1") -> list[tuple[str, str]]:
    found = created(world, NODES, name, "")["spec"].get("taints") or []
    return [(one["key"].removeprefix("node.kubernetes.io/"), one["effect"]) for one in found]


def test_a_silent_node_is_unknown_after_fifty_seconds_and_its_pods_do_not_count() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=3)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=2), "default")
        await world.sim.clock.sleep(30)
        world.pool.isolate("node-1")
        await world.sim.clock.sleep(35)
        assert ready(world) == "True"
        await world.until(lambda: ready(world) == "Unknown", timeout=30)
        await world.until(lambda: len(taints(world)) == 2, timeout=5)
        assert taints(world) == [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]
        found = created(world, NODES, "node-1", "")
        assert condition_of(found, "Ready", "reason") == "NodeStatusUnknown"
        await world.until(lambda: len(world.healthy_pods()) == 2, timeout=5)
        await world.until(
            lambda: created(world, PODDISRUPTIONBUDGETS, "web")["status"].get("disruptionsAllowed", 0) == 0,
            timeout=5,
        )
        world.pool.rejoin("node-1")
        await world.until(lambda: ready(world) == "True" and not taints(world), timeout=60)
        await world.until(lambda: len(world.healthy_pods()) == 3, timeout=60)
        (back,) = [one["metadata"]["name"] for one in world.objects(PODS) if node_of(one) == "node-1"]
        await world.until(
            lambda: condition_of(created(world, PODS, back), "vacate.dev/NodeDown") == "False", timeout=10
        )
        assert summarise(created(world, PODS, back)).reason == "Running"

    in_world(body)


def test_a_pod_that_comes_to_a_silent_node_says_so_as_well() -> None:
    """A DaemonSet's, or one that the scheduler bound in the moment in which the node was lost."""

    async def body(world: World) -> None:
        await running(world, replicas=1)
        world.pool.isolate("node-1")
        await world.until(lambda: ready(world) == "Unknown" and len(taints(world)) == 2, timeout=90)
        await world.sim.clock.sleep(30)
        late = pod("late", spec={"nodeName": "node-1", "tolerations": [{"operator": "Exists"}]})
        await world.client.create(PODS, late, "default")
        await world.until(
            lambda: condition_of(created(world, PODS, "late"), "vacate.dev/NodeDown") == "True", timeout=10
        )
        assert summarise(created(world, PODS, "late")).reason == "NodeDown"
        world.pool.rejoin("node-1")
        await world.until(
            lambda: condition_of(created(world, PODS, "late"), "vacate.dev/NodeDown") == "False", timeout=60
        )

    in_world(body)


def test_pods_leave_a_silent_node_after_their_toleration_and_are_never_forced() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=3)
        world.pool.isolate("node-1")
        (lost,) = [one["metadata"]["name"] for one in world.objects(PODS) if node_of(one) == "node-1"]
        await world.until(lambda: ready(world) == "Unknown", timeout=90)
        await world.sim.clock.sleep(290)
        assert "deletionTimestamp" not in created(world, PODS, lost)["metadata"]
        await world.until(lambda: "deletionTimestamp" in created(world, PODS, lost)["metadata"], timeout=30)
        marked = created(world, PODS, lost)
        assert condition_of(marked, "DisruptionTarget", "reason") == "DeletionByTaintManager"
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
        await world.until(lambda: len(world.healthy_pods()) == 3, timeout=30)
        await world.sim.clock.sleep(900)
        left = created(world, PODS, lost)
        assert condition_of(left, "vacate.dev/NodeDown", "reason") == "NodePartitioned"
        assert "Node node-1 counts as unreachable since 20" in condition_of(
            left, "vacate.dev/NodeDown", "message"
        )
        assert summarise(left).reason == "NodeDown"
        world.pool.rejoin("node-1")
        await world.until(lambda: world.find(PODS, lost, "default") is None, timeout=120)

    in_world(body)


def test_where_no_node_is_ready_nobody_is_evicted() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=3)
        for name in ("node-1", "node-2", "node-3"):
            world.pool.isolate(name)
        await world.sim.clock.sleep(120)
        assert {ready(world, name) for name in ("node-1", "node-2", "node-3")} == {"Unknown"}
        await world.sim.clock.sleep(900)
        assert [taints(world, name) for name in ("node-1", "node-2", "node-3")] == [
            [("unreachable", "NoSchedule")]
        ] * 3
        assert all("deletionTimestamp" not in one["metadata"] for one in world.objects(PODS))

    in_world(body)


def test_a_taint_that_is_not_tolerated_drives_pods_out_at_once_and_gracefully() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODS, pod("meek"), "default")
        patient = [{"key": "go", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 100}]
        await world.client.create(PODS, pod("patient", spec={"tolerations": patient}), "default")
        firm = [{"key": "go", "operator": "Exists"}]
        await world.client.create(PODS, pod("firm", spec={"tolerations": firm}), "default")
        await world.until(lambda: len(world.healthy_pods()) == 3)
        taint = {"key": "go", "effect": "NoExecute"}
        await world.client.patch(NODES, "node-1", {"spec": {"taints": [taint]}})
        await world.until(lambda: world.find(PODS, "meek", "default") is None, timeout=40)
        assert world.find(PODS, "patient", "default") is not None
        await world.sim.clock.sleep(110)
        assert world.find(PODS, "patient", "default") is None
        await world.sim.clock.sleep(900)
        assert world.find(PODS, "firm", "default") is not None

    in_world(body, nodes=1)


def test_a_taint_that_is_removed_in_time_spares_the_pod() -> None:
    async def body(world: World) -> None:
        patient = [{"key": "go", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 100}]
        await world.client.create(PODS, pod("patient", spec={"tolerations": patient}), "default")
        await world.until(lambda: len(world.healthy_pods()) == 1)
        await world.client.patch(
            NODES, "node-1", {"spec": {"taints": [{"key": "go", "effect": "NoExecute"}]}}
        )
        await world.sim.clock.sleep(60)
        await world.client.patch(NODES, "node-1", {"spec": {"taints": None}})
        await world.sim.clock.sleep(600)
        assert world.find(PODS, "patient", "default") is not None

    in_world(body, nodes=1)


def test_a_cordon_is_a_taint_as_well_and_healthy_nodes_cost_nothing() -> None:
    async def body(world: World) -> None:
        await world.settle(30)
        before = writes(world)
        await world.sim.clock.sleep(900)
        assert writes(world) == before
        await world.client.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
        await world.until(lambda: taints(world) == [("unschedulable", "NoSchedule")], timeout=5)
        await world.client.patch(NODES, "node-1", {"spec": {"unschedulable": False}})
        await world.until(lambda: taints(world) == [], timeout=5)

    in_world(body)
