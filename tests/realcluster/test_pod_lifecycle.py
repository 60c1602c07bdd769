"""How pods come and go in a whole cluster: one body, run on the embedded cluster and on a real one.

On the real one scheduler, controllers and API server are those of Kubernetes and the nodes are Vacate's.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.arms.clusters import Lab
from vacate.api.kinds import DEPLOYMENTS, NAMESPACES, NODES, PODDISRUPTIONBUDGETS, PODS, REPLICASETS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.errors import TooManyRequests
from vacate.testing import deployment, pdb

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("pod lifecycle")]


async def deployed(lab: Lab, replicas: int, **spec: Any) -> Obj:
    """A deployment all of whose pods are ready."""
    made = deployment("web", namespace=lab.namespace, replicas=replicas, spec=spec)
    created = await lab.create(DEPLOYMENTS, made)
    await lab.until(lambda: lab.rolled_out("web", replicas), "the deployment is rolled out")
    return created


async def guarded(lab: Lab, **bounds: Any) -> None:
    """A budget that the disruption controller has seen."""
    await lab.create(PODDISRUPTIONBUDGETS, pdb("web", namespace=lab.namespace, **bounds))

    async def seen() -> bool:
        status = (await lab.get(PODDISRUPTIONBUDGETS, "web")).get("status", {})
        return bool(status.get("observedGeneration") == 1 and status.get("expectedPods", 0) > 0)

    await lab.until(seen, "the budget is computed")


async def test_a_deployment_runs_on_simulated_nodes(lab: Lab) -> None:
    await deployed(lab, 6)
    pods = await lab.pods()
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 6
    assert len({pod["status"]["podIP"] for pod in pods}) == 6
    assert {pod["spec"]["nodeName"] for pod in pods} == {"node-1", "node-2", "node-3"}


async def test_a_drain_keeps_the_budget(lab: Lab) -> None:
    await deployed(lab, 6)
    await guarded(lab, min_available=5)
    await lab.client.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    try:
        evicted = await _drain(lab, "node-1")
    finally:
        await lab.client.patch(NODES, "node-1", {"spec": {"unschedulable": None}})
    assert evicted >= 2
    await lab.until(lambda: lab.rolled_out("web", 6), "the evicted pods are replaced")
    assert {pod["spec"]["nodeName"] for pod in await lab.pods()} <= {"node-2", "node-3"}


async def _drain(lab: Lab, node: str) -> int:
    evicted = 0
    refusals: set[str] = set()

    async def step() -> bool:
        nonlocal evicted
        there = await lab.pods_on(node)
        for pod in [pod for pod in there if "deletionTimestamp" not in pod["metadata"]]:
            try:
                await lab.client.evict(pod["metadata"]["name"], lab.namespace)
                evicted += 1
            except TooManyRequests as refusal:
                refusals.add(refusal.message)
        assert await _ready_pods(lab) >= 5
        return not there

    await lab.until(step, f"{node} is empty")
    assert refusals <= {"Cannot evict pod as it would violate the pod's disruption budget."}
    return evicted


async def _ready_pods(lab: Lab) -> int:
    def ready(pod: Obj) -> bool:
        return any(
            one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ())
        )

    return sum(ready(pod) for pod in await lab.pods())


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
async def test_the_arithmetic_of_budgets(lab: Lab, case: str) -> None:
    replicas, bounds, wanted, allowed = BUDGETS[case]
    await deployed(lab, replicas)
    await guarded(lab, **bounds)
    expected = {
        "expectedPods": replicas, "currentHealthy": replicas, "desiredHealthy": wanted,
        "disruptionsAllowed": allowed,
    }  # fmt: skip

    async def agrees() -> bool:
        status = (await lab.get(PODDISRUPTIONBUDGETS, "web"))["status"]
        return {field: status[field] for field in expected} == expected

    await lab.until(agrees, f"the budget's status is {expected}")


async def test_scaling_down_spares_the_costly(lab: Lab) -> None:
    await deployed(lab, 4)
    kept = sorted(pod["metadata"]["name"] for pod in await lab.pods())[:2]
    for name in kept:
        cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "100"}}}
        await lab.client.patch(PODS, name, cost, lab.namespace)
    await lab.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2}}, lab.namespace)
    await lab.until(lambda: lab.rolled_out("web", 2), "two pods are left")
    assert sorted(pod["metadata"]["name"] for pod in await lab.pods()) == kept


async def test_a_new_template_replaces_every_pod(lab: Lab) -> None:
    await deployed(lab, 3)
    before = {pod["metadata"]["uid"] for pod in await lab.pods()}
    patch = {"spec": {"template": {"metadata": {"annotations": {"again": "yes"}}}}}
    await lab.client.patch(DEPLOYMENTS, "web", patch, lab.namespace)
    await lab.until(lambda: lab.rolled_out("web", 3), "the new template is rolled out")
    assert before.isdisjoint({pod["metadata"]["uid"] for pod in await lab.pods()})
    sets = (await lab.client.list(REPLICASETS, lab.namespace)).items
    revisions = {one["metadata"]["annotations"]["deployment.kubernetes.io/revision"] for one in sets}
    assert revisions == {"1", "2"}
    assert sorted(one["spec"]["replicas"] for one in sets) == [0, 3]


async def test_what_is_owned_goes_with_its_owner(lab: Lab) -> None:
    await deployed(lab, 2)
    await lab.client.delete(DEPLOYMENTS, "web", lab.namespace, DeleteOptions(propagation_policy="Foreground"))

    async def all_gone() -> bool:
        left = [await lab.client.list(kind, lab.namespace) for kind in (DEPLOYMENTS, REPLICASETS, PODS)]
        return not any(listed.items for listed in left)

    await lab.until(all_gone, "deployment, replica set and pods are gone")


async def test_a_namespace_goes_with_all_that_is_in_it(lab: Lab) -> None:
    await deployed(lab, 3)
    await guarded(lab, min_available=3)
    await lab.client.delete(NAMESPACES, lab.namespace)
    await lab.until(lab.namespace_is_gone, "the namespace is gone")
