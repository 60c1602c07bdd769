"""Deployments in a cluster: rollouts, history, undo, pause."""

from __future__ import annotations

import pytest

from support.simulated.workloads import (
    condition_of,
    created,
    events_of,
    history,
    in_world,
    rollout_done,
    running,
    writes,
)
from vacate.api.kinds import DEPLOYMENTS, PODS, REPLICASETS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.sim.cluster import World
from vacate.testing import deployment

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

REVISION = "deployment.kubernetes.io/revision"


async def set_image(world: World, image: str) -> None:
    change = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}
    await world.client.patch(DEPLOYMENTS, "web", change, "default")


def revisions(world: World) -> dict[str, int]:
    return {
        one["metadata"]["annotations"][REVISION]: one["spec"]["replicas"]
        for one in world.objects(REPLICASETS)
    }


def images(world: World) -> set[str]:
    return {one["spec"]["containers"][0]["image"] for one in world.healthy_pods()}


def bounds_kept(world: World, least: int, most: int) -> None:
    """Replay all that was ever written: the pods that count, and those that are available, stay in bounds."""
    alive: dict[str, Obj] = {}
    began = False
    for deleted, pod in history(world, PODS):
        if deleted or pod["metadata"].get("deletionTimestamp"):
            alive.pop(pod["metadata"]["name"], None)
        else:
            alive[pod["metadata"]["name"]] = pod
        ready = sum(condition_of(one, "Ready") == "True" for one in alive.values())
        began = began or ready >= least
        assert len(alive) <= most
        assert not began or ready >= least


@pytest.mark.thorough
def test_a_rolling_update_replaces_all_pods_and_remembers_the_past() -> None:
    async def body(world: World) -> None:
        first = await running(world, replicas=4)
        assert first["metadata"]["annotations"][REVISION] == "1"
        await set_image(world, "registry.example/app:2")
        await world.until(lambda: rollout_done(world))
        await world.settle(5)
        assert images(world) == {"registry.example/app:2"}
        assert revisions(world) == {"1": 0, "2": 4}
        bounds_kept(world, 3, 5)
        found = created(world, DEPLOYMENTS, "web")
        assert found["metadata"]["annotations"][REVISION] == "2"
        assert condition_of(found, "Available", "reason") == "MinimumReplicasAvailable"
        (name,) = [o["metadata"]["name"] for o in world.objects(REPLICASETS) if o["spec"]["replicas"] == 4]
        assert (
            condition_of(found, "Progressing", "message")
            == f'ReplicaSet "{name}" has successfully progressed.'
        )
        messages = events_of(world, "web", "ScalingReplicaSet")
        assert f"Scaled up replica set {name} from 0 to 1" in messages
        before = writes(world)
        await world.sim.clock.sleep(900)
        assert writes(world) == before

    in_world(body)


@pytest.mark.thorough
def test_an_undo_gives_the_old_replica_set_a_new_number() -> None:
    async def body(world: World) -> None:
        await running(world)
        await set_image(world, "registry.example/app:2")
        await world.until(lambda: rollout_done(world))
        await set_image(world, "registry.example/app:1")
        await world.until(lambda: rollout_done(world))
        await world.settle(5)
        assert revisions(world) == {"2": 0, "3": 3}
        assert images(world) == {"registry.example/app:1"}

    in_world(body)


def test_recreate_never_runs_two_versions_at_once() -> None:
    async def body(world: World) -> None:
        await running(world, spec={"strategy": {"type": "Recreate"}})
        await set_image(world, "registry.example/app:2")
        await world.until(lambda: rollout_done(world))
        alive: dict[str, str] = {}
        for deleted, pod in history(world, PODS):
            alive.pop(pod["metadata"]["name"], None)
            if not deleted:
                alive[pod["metadata"]["name"]] = pod["spec"]["containers"][0]["image"]
            assert len(set(alive.values())) <= 1

    in_world(body)


def test_a_stuck_rollout_exceeds_its_deadline_and_recovers() -> None:
    async def body(world: World) -> None:
        await running(world, spec={"progressDeadlineSeconds": 60})
        never = {"metadata": {"annotations": {"sim.vacate.dev/ready-seconds": "never"}}}
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": never}}, "default")
        late = "ProgressDeadlineExceeded"
        await world.until(
            lambda: condition_of(created(world, DEPLOYMENTS, "web"), "Progressing", "reason") == late,
            timeout=120,
        )
        assert condition_of(created(world, DEPLOYMENTS, "web"), "Available") == "True"
        assert len(world.healthy_pods()) == 3
        back = {"metadata": {"annotations": {"sim.vacate.dev/ready-seconds": "1"}}}
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": back}}, "default")
        await world.until(lambda: rollout_done(world))

    in_world(body)


def test_a_paused_deployment_waits_and_rolls_out_when_resumed() -> None:
    async def body(world: World) -> None:
        await running(world)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}}, "default")
        await set_image(world, "registry.example/app:2")
        await world.settle(20)
        assert images(world) == {"registry.example/app:1"}
        assert condition_of(created(world, DEPLOYMENTS, "web"), "Progressing", "reason") == "DeploymentPaused"
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}}, "default")
        await world.until(lambda: rollout_done(world))
        assert images(world) == {"registry.example/app:2"}

    in_world(body)


def test_only_so_much_history_is_kept() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=1, spec={"revisionHistoryLimit": 2})
        for number in range(2, 7):
            await set_image(world, f"registry.example/app:{number}")
            await world.until(lambda: rollout_done(world))
        await world.settle(10)
        assert sorted(revisions(world)) == ["4", "5", "6"]

    in_world(body)


def test_scaling_in_the_middle_of_a_rollout_reaches_the_new_size() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=6)
        await set_image(world, "registry.example/app:2")
        await world.sim.clock.sleep(1.5)
        scale = {"spec": {"replicas": 10}}
        await world.client.patch(DEPLOYMENTS, "web", scale, "default", subresource="scale")
        await world.until(lambda: rollout_done(world))
        assert len(world.healthy_pods()) == 10
        assert images(world) == {"registry.example/app:2"}

    in_world(body)


def test_a_name_that_is_taken_counts_as_a_collision() -> None:
    async def body(world: World) -> None:
        await running(world)
        (mine,) = world.objects(REPLICASETS)
        await world.client.delete(
            DEPLOYMENTS, "web", "default", DeleteOptions(propagation_policy="Background")
        )
        await world.until(lambda: not world.objects(PODS))
        thief = {**mine, "metadata": {"name": mine["metadata"]["name"], "labels": {"who": "thief"}}}
        thief["spec"] = {
            "replicas": 0,
            "selector": {"matchLabels": {"who": "thief"}},
            "template": {"metadata": {"labels": {"who": "thief"}}, "spec": mine["spec"]["template"]["spec"]},
        }
        await world.client.create(REPLICASETS, thief, "default")
        await world.client.create(DEPLOYMENTS, deployment("web"), "default")
        await world.until(lambda: rollout_done(world))
        assert created(world, DEPLOYMENTS, "web")["status"]["collisionCount"] == 1

    in_world(body)
