"""How pods come and go in a whole cluster: one body, told on the embedded cluster and on a real one.

On the real one scheduler, controllers and API server are those of Kubernetes and the nodes are Vacate's.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.arms_kube_town import Town
from vacate.api.kinds import DEPLOYMENTS, NAMESPACES, NODES, PODDISRUPTIONBUDGETS, PODS, REPLICASETS
from vacate.api.objects import Obj
from vacate.errors import TooManyRequests
from vacate.testing import deployment, pdb

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("towns")]


async def deployed(town: Town, replicas: int, **spec: Any) -> Obj:
    """A deployment all of whose pods are ready."""
    made = deployment("web", namespace=town.namespace, replicas=replicas, spec=spec)
    created = await town.create(DEPLOYMENTS, made)
    await town.until(lambda: town.rolled_out("web", replicas), "the deployment is rolled out")
    return created


async def guarded(town: Town, **bounds: Any) -> None:
    """A budget that the disruption controller has seen."""
    await town.create(PODDISRUPTIONBUDGETS, pdb("web", namespace=town.namespace, **bounds))

    async def seen() -> bool:
        status = (await town.get(PODDISRUPTIONBUDGETS, "web")).get("status", {})
        return bool(status.get("observedGeneration") == 1 and status.get("expectedPods", 0) > 0)

    await town.until(seen, "the budget is computed")


async def test_a_deployment_runs_on_paper(town: Town) -> None:
    await deployed(town, 6)
    pods = await town.pods()
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 6
    assert len({pod["status"]["podIP"] for pod in pods}) == 6
    assert {pod["spec"]["nodeName"] for pod in pods} == {"node-1", "node-2", "node-3"}


async def test_a_drain_keeps_the_budget(town: Town) -> None:
    await deployed(town, 6)
    await guarded(town, min_available=5)
    await town.client.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    try:
        evicted = await _drain(town, "node-1")
    finally:
        await town.client.patch(NODES, "node-1", {"spec": {"unschedulable": None}})
    assert evicted >= 2
    await town.until(lambda: town.rolled_out("web", 6), "the evicted pods are replaced")
    assert {pod["spec"]["nodeName"] for pod in await town.pods()} <= {"node-2", "node-3"}


async def _drain(town: Town, node: str) -> int:
    evicted = 0
    refusals: set[str] = set()

    async def step() -> bool:
        nonlocal evicted
        there = await town.pods_on(node)
        for pod in [pod for pod in there if "deletionTimestamp" not in pod["metadata"]]:
            try:
                await town.client.evict(pod["metadata"]["name"], town.namespace)
                evicted += 1
            except TooManyRequests as refusal:
                refusals.add(refusal.message)
        assert await _ready_pods(town) >= 5
        return not there

    await town.until(step, f"{node} is empty")
    assert refusals <= {"Cannot evict pod as it would violate the pod's disruption budget."}
    return evicted


async def _ready_pods(town: Town) -> int:
    def ready(pod: Obj) -> bool:
        return any(
            one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ())
        )

    return sum(ready(pod) for pod in await town.pods())


# Replicas, bounds, and what the status must say: healthy wanted, disruptions allowed.
BUDGETS: dict[str, tuple[int, dict[str, Any], int, int]] = {
    "at-least-two": (3, {"min_available": 2}, 2, 1),
    "at-least-all": (3, {"min_available": 3}, 3, 0),
    "more-than-there-are": (3, {"min_available": 5}, 5, 0),
    "at-least-half-of-three": (3, {"min_available": "50%"}, 2, 1),
    "at-least-a-third-of-seven": (7, {"min_available": "34%"}, 3, 4),
    "at-most-one": (3, {"max_unavailable": 1}, 2, 1),
    "at-most-none": (3, {"max_unavailable": 0}, 3, 0),
    "at-most-a-tenth-of-three": (3, {"max_unavailable": "10%"}, 2, 1),
    "at-most-half-of-three": (3, {"max_unavailable": "50%"}, 1, 2),
    "at-most-all": (3, {"max_unavailable": "100%"}, 0, 3),
}


@pytest.mark.parametrize("case", BUDGETS)
async def test_the_arithmetic_of_budgets(town: Town, case: str) -> None:
    replicas, bounds, wanted, allowed = BUDGETS[case]
    await deployed(town, replicas)
    await guarded(town, **bounds)
    expected = {
        "expectedPods": replicas, "currentHealthy": replicas, "desiredHealthy": wanted,
        "disruptionsAllowed": allowed,
    }  # fmt: skip

    async def agrees() -> bool:
        status = (await town.get(PODDISRUPTIONBUDGETS, "web"))["status"]
        return {field: status[field] for field in expected} == expected

    await town.until(agrees, f"the budget's status is {expected}")


async def test_scaling_down_spares_the_costly(town: Town) -> None:
    await deployed(town, 4)
    kept = sorted(pod["metadata"]["name"] for pod in await town.pods())[:2]
    for name in kept:
        cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "100"}}}
        await town.client.patch(PODS, name, cost, town.namespace)
    await town.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2}}, town.namespace)
    await town.until(lambda: town.rolled_out("web", 2), "two pods are left")
    assert sorted(pod["metadata"]["name"] for pod in await town.pods()) == kept


async def test_a_new_template_replaces_every_pod(town: Town) -> None:
    await deployed(town, 3)
    before = {pod["metadata"]["uid"] for pod in await town.pods()}
    patch = {"spec": {"template": {"metadata": {"annotations": {"again": "yes"}}}}}
    await town.client.patch(DEPLOYMENTS, "web", patch, town.namespace)
    await town.until(lambda: town.rolled_out("web", 3), "the new template is rolled out")
    assert before.isdisjoint({pod["metadata"]["uid"] for pod in await town.pods()})
    sets = (await town.client.list(REPLICASETS, town.namespace)).items
    revisions = {one["metadata"]["annotations"]["deployment.kubernetes.io/revision"] for one in sets}
    assert revisions == {"1", "2"}
    assert sorted(one["spec"]["replicas"] for one in sets) == [0, 3]


async def test_what_is_owned_goes_with_its_owner(town: Town) -> None:
    await deployed(town, 2)
    await town.client.delete(DEPLOYMENTS, "web", town.namespace, propagation_policy="Foreground")

    async def all_gone() -> bool:
        left = [await town.client.list(kind, town.namespace) for kind in (DEPLOYMENTS, REPLICASETS, PODS)]
        return not any(listed.items for listed in left)

    await town.until(all_gone, "deployment, replica set and pods are gone")


async def test_a_namespace_goes_with_all_that_is_in_it(town: Town) -> None:
    await deployed(town, 3)
    await guarded(town, min_available=3)
    await town.client.delete(NAMESPACES, town.namespace)
    await town.until(town.namespace_is_gone, "the namespace is gone")
