"""Budgets in a cluster: what they count, what evictions take, and what happens when one fails."""

from __future__ import annotations

import pytest

from support.simulated.workloads import condition_of, created, events_of, in_world, running
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.client.requests import STRATEGIC_PATCH
from vacate.errors import TooManyRequests
from vacate.sim.cluster import World
from vacate.testing import pdb, pod

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]


def status(world: World, name: str = "web") -> Obj:
    found: Obj = created(world, PODDISRUPTIONBUDGETS, name).get("status", {})
    return found


def counts(world: World, name: str = "web") -> tuple[int, int, int, int]:
    found = status(world, name)
    keys = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    expected, desired, healthy, allowed = (int(found.get(key, 0)) for key in keys)
    return expected, desired, healthy, allowed


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        ({"min_available": 3}, (4, 3, 4, 1)),
        ({"min_available": "50%"}, (4, 2, 4, 2)),
        ({"max_unavailable": 1}, (4, 3, 4, 1)),
        ({"max_unavailable": "30%"}, (4, 2, 4, 2)),
        ({"min_available": 9}, (4, 9, 4, 0)),
    ],
)
def test_a_budget_counts_the_pods_of_its_controllers(budget: Obj, expected: tuple[int, ...]) -> None:
    async def body(world: World) -> None:
        await running(world, replicas=4)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", **budget), "default")
        await world.until(lambda: counts(world) == expected, timeout=10)
        found = created(world, PODDISRUPTIONBUDGETS, "web")
        assert found["status"]["observedGeneration"] == 1
        allowed = "True" if expected[3] else "False"
        assert condition_of(found, "DisruptionAllowed") == allowed

    in_world(body)


@pytest.mark.thorough
def test_evictions_take_from_the_budget_and_new_pods_give_back() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=4)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=3), "default")
        await world.until(lambda: counts(world)[3] == 1)
        names = [one["metadata"]["name"] for one in world.objects(PODS)]
        await world.client.evict(names[0], "default")
        with pytest.raises(TooManyRequests):
            await world.client.evict(names[1], "default")
        await world.until(lambda: counts(world) == (4, 3, 4, 1) and not status(world).get("disruptedPods"))

    in_world(body)


@pytest.mark.thorough
def test_scaling_changes_what_a_percentage_means() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=2)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available="50%"), "default")
        await world.until(lambda: counts(world) == (2, 1, 2, 1))
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 8}}, "default")
        await world.until(lambda: counts(world) == (8, 4, 8, 4))

    in_world(body)


def test_a_pod_whose_controller_has_no_scale_stops_all_disruptions() -> None:
    async def body(world: World) -> None:
        await world.client.create(
            CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "odd"}}, "default"
        )
        uid = created(world, CONFIGMAPS, "odd")["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "odd", "uid": uid, "controller": True}
        odd = pod("odd", labels={"app": "web"})
        odd["metadata"]["ownerReferences"] = [owner]
        await world.client.create(PODS, odd, "default")
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", max_unavailable=1), "default")
        await world.until(
            lambda: (
                condition_of(created(world, PODDISRUPTIONBUDGETS, "web"), "DisruptionAllowed", "reason")
                == "SyncFailed"
            )
        )
        found = created(world, PODDISRUPTIONBUDGETS, "web")
        message = "configmaps does not implement the scale subresource"
        assert condition_of(found, "DisruptionAllowed", "message") == message
        assert found["status"].get("disruptionsAllowed", 0) == 0
        await world.settle(5)
        assert events_of(world, "web", "CalculateExpectedPodCountFailed") == [
            f"Failed to calculate the number of expected pods: {message}"
        ]

    in_world(body)


def test_pods_without_a_controller_count_by_number_only() -> None:
    async def body(world: World) -> None:
        for name in ("a", "b"):
            await world.client.create(PODS, pod(name, labels={"app": "web"}), "default")
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
        await world.client.create(
            PODDISRUPTIONBUDGETS, pdb("rel", max_unavailable=1, selector={"app": "web"}), "default"
        )
        await world.until(lambda: counts(world) == (2, 1, 2, 1))
        await world.settle(5)
        assert counts(world, "rel") == (0, 0, 2, 0)
        assert len(events_of(world, "rel", "UnmanagedPods")) == 1

    in_world(body)


def test_a_disruption_that_never_comes_is_believed_for_two_minutes() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=4)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=3), "default")
        await world.until(lambda: counts(world)[3] == 1)
        name = world.objects(PODS)[0]["metadata"]["name"]
        now = world.sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        taken = {"status": {"disruptedPods": {name: now}, "disruptionsAllowed": 0}}
        await world.client.patch(PODDISRUPTIONBUDGETS, "web", taken, "default", subresource="status")
        await world.sim.clock.sleep(100)
        assert counts(world)[2:] == (3, 0)
        await world.until(lambda: counts(world) == (4, 3, 4, 1), timeout=30)
        assert not status(world).get("disruptedPods")
        await world.settle(5)
        assert events_of(world, name, "NotDeleted") == [
            "Pod was expected by PDB default/web to be deleted but it wasn't"
        ]

    in_world(body)


def test_a_stale_mark_of_disruption_is_taken_back() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODS, pod("p"), "default")
        await world.until(lambda: len(world.healthy_pods()) == 1)
        moment = world.sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        mark = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "lastTransitionTime": moment,
        }
        patch = {"status": {"conditions": [mark]}}
        await world.client.patch(
            PODS, "p", patch, "default", patch_type=STRATEGIC_PATCH, subresource="status"
        )
        await world.sim.clock.sleep(110)
        assert condition_of(created(world, PODS, "p"), "DisruptionTarget") == "True"
        await world.until(
            lambda: condition_of(created(world, PODS, "p"), "DisruptionTarget") == "False", timeout=15
        )
        assert condition_of(created(world, PODS, "p"), "Ready") == "True"

    in_world(body)
