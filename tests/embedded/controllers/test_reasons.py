"""Controllers say why they end pods: scaled down, updated, or driven out by a taint."""

from __future__ import annotations

from collections import Counter

import pytest

from support.simulated.workloads import history, in_world, rollout_done
from vacate.api.kinds import DAEMONSETS, DEPLOYMENTS, NODES, PODS, REPLICASETS, STATEFULSETS
from vacate.sim.cluster import World
from vacate.testing import daemonset, deployment, pod, replicaset, statefulset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]


def reasons(world: World) -> Counter[str]:
    """The reasons of pods that are gone."""
    return Counter(obj["metadata"].get("reason", "") for deleted, obj in history(world, PODS) if deleted)


async def scale(world: World, count: int) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": count}}, "default")
    await world.until(lambda: len(world.objects(PODS)) == count == len(world.healthy_pods()))


async def change_image(world: World) -> None:
    change = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}}
    await world.client.patch(DEPLOYMENTS, "web", change, "default")
    await world.until(lambda: {_image(one) for one in world.objects(PODS)} == {"web:2"})
    await world.until(lambda: rollout_done(world, "web"))


def _image(obj: dict[str, object]) -> str:
    found = obj["spec"]["containers"][0]["image"]  # type: ignore[index]
    return str(found)


@pytest.mark.parametrize("strategy", ["RollingUpdate", "Recreate"])
def test_a_rollout_is_an_update_and_scaling_down_decommissions(strategy: str) -> None:
    async def body(world: World) -> None:
        wanted = deployment("web", replicas=3)
        wanted["spec"]["strategy"] = {"type": strategy}
        await world.client.create(DEPLOYMENTS, wanted, "default")
        await world.until(lambda: len(world.healthy_pods()) == 3)
        await change_image(world)
        assert reasons(world) == {"Update": 3}
        await scale(world, 1)
        assert reasons(world) == {"Update": 3, "Decommissioned": 2}
        await scale(world, 0)
        assert reasons(world) == {"Update": 3, "Decommissioned": 3}

    in_world(body)


def test_a_replica_set_of_its_own_decommissions() -> None:
    async def body(world: World) -> None:
        await world.client.create(REPLICASETS, replicaset("web", replicas=2), "default")
        await world.until(lambda: len(world.healthy_pods()) == 2)
        await world.client.patch(REPLICASETS, "web", {"spec": {"replicas": 0}}, "default")
        await world.until(lambda: not world.objects(PODS))
        assert reasons(world) == {"Decommissioned": 2}

    in_world(body)


def test_a_stateful_set_and_a_daemon_set_say_so_too() -> None:
    image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "new:2"}]}}}}

    async def body(world: World) -> None:
        await world.client.create(STATEFULSETS, statefulset("db", replicas=2), "default")
        await world.client.create(DAEMONSETS, daemonset("logs"), "default")
        await world.until(lambda: len(world.healthy_pods()) == 3)
        for kind, name in ((STATEFULSETS, "db"), (DAEMONSETS, "logs")):
            await world.client.patch(kind, name, image, "default")
        await world.until(lambda: [_image(one) for one in world.healthy_pods()] == ["new:2"] * 3)
        assert reasons(world) == {"Update": 3}
        await world.client.patch(STATEFULSETS, "db", {"spec": {"replicas": 1}}, "default")
        away = {"spec": {"template": {"spec": {"nodeSelector": {"no": "where"}}}}}
        await world.client.patch(DAEMONSETS, "logs", away, "default")
        await world.until(lambda: len(world.objects(PODS)) == 1)
        assert reasons(world) == {"Update": 3, "Decommissioned": 2}

    in_world(body, nodes=1)


def test_a_taint_says_so_also_where_it_was_tolerated_for_a_while() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODS, pod("meek"), "default")
        patient = [{"key": "go", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 100}]
        await world.client.create(PODS, pod("patient", spec={"tolerations": patient}), "default")
        await world.until(lambda: len(world.healthy_pods()) == 2)
        taint = {"key": "go", "effect": "NoExecute"}
        await world.client.patch(NODES, "node-1", {"spec": {"taints": [taint]}})
        await world.until(lambda: not world.objects(PODS), timeout=200)
        assert reasons(world) == {"IntolerableTaint": 2}

    in_world(body, nodes=1)
