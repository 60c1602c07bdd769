"""What helps against a disruption budget that refuses."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest

from vacate.api.types import ObjectMeta, Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.policy import PodDisruptionBudgetSpec
from vacate.eviction.records.history import PastTurn, TurnResult, write_history
from vacate.maintenance.blockers import blocking, budget_remedy

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("expected", "desired", "healthy", "remedy"),
    [
        pytest.param(1, 1, 1, "add replicas or lower what it demands", id="all of its pods"),
        pytest.param(3, 2, 1, "wait until more pods of disruption budget web are", id="one is unhealthy"),
        pytest.param(
            13, 11, 12, "wait until evictions of other pods of disruption budget web have ended",
            id="needs 11, has 12, allows none",
        ),
    ],
)  # fmt: skip
def test_remedy(expected: int, desired: int, healthy: int, remedy: str) -> None:
    assert remedy in budget_remedy(Pod(), _budget(expected, desired, healthy))


def _budget(expected: int, desired: int, healthy: int) -> PodDisruptionBudget:
    status = {"expectedPods": expected, "desiredHealthy": desired, "currentHealthy": healthy}
    spec = {"minAvailable": desired}
    return msgspec.convert({"metadata": {"name": "web"}, "spec": spec, "status": status}, PodDisruptionBudget)


MOVE = "kubectl annotate deployment my-web vacate.dev/move-before-eviction=true -n shop; or add replicas"
PREPARED = "kubectl annotate statefulset db vacate.dev/delete-when-prepared=true -n shop; or add replicas"
PLAIN = "never allows an eviction: add replicas"
HOOK = {"interceptor.evictionrequest.coordination.k8s.io/priority_backup.example.com": "100"}
MOVED = {
    "interceptor.evictionrequest.coordination.k8s.io/priority_deployment.apps.k8s.io": "10000/controller"
}


@pytest.mark.parametrize(
    ("owner", "annotations", "pods", "remedy"),
    [
        pytest.param("ReplicaSet/my-web-5d9f", {}, 1, MOVE, id="of a Deployment"),
        pytest.param("ReplicaSet/my-web-5d9f", {}, 3, MOVE, id="all three of a Deployment"),
        pytest.param("ReplicaSet/my-web-5d9f", MOVED, 1, PLAIN, id="moved already"),
        pytest.param("ReplicaSet/my-web", {}, 1, PLAIN, id="of a ReplicaSet alone"),
        pytest.param("StatefulSet/db", HOOK, 1, PREPARED, id="of a StatefulSet with a hook"),
        pytest.param("StatefulSet/db", HOOK, 3, PLAIN, id="the budget protects others too"),
        pytest.param("StatefulSet/db", {}, 1, PLAIN, id="nothing prepares it"),
    ],
)
def test_what_the_workload_can_opt_in_to_comes_first(
    owner: str, annotations: dict[str, str], pods: int, remedy: str
) -> None:
    kind, _, name = owner.partition("/")
    by = {"kind": kind, "name": name, "controller": True}
    labels = {"pod-template-hash": "5d9f"} if kind == "ReplicaSet" else {}
    meta = {"namespace": "shop", "labels": labels, "annotations": annotations, "ownerReferences": [by]}
    pod = msgspec.convert({"metadata": meta}, Pod)
    assert remedy in budget_remedy(pod, _budget(pods, pods, pods))


@pytest.mark.parametrize(
    ("result", "shown", "remedy"),
    [
        ("failed", "backup.example.com failed: no disk.", "vacate retry db-0 -n shop; or disruption budget"),
        ("never-responded", "backup.example.com timed out: no disk.", "vacate retry db-0 -n shop; or"),
        ("completed", "", PREPARED),
    ],
)
def test_an_opt_in_for_prepared_pods_is_proposed_for_prepared_pods_only(
    result: str, shown: str, remedy: str
) -> None:
    """It may be set already, and would not help."""
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    owner = {"kind": "StatefulSet", "name": "db", "controller": True}
    meta = {
        "name": "db-0", "namespace": "shop", "labels": {"app": "db"}, "annotations": HOOK,
        "ownerReferences": [owner],
    }  # fmt: skip
    history = write_history([PastTurn("backup.example.com", now, TurnResult(result), now, "no disk")])
    conditions = [
        {"type": "InterceptorAssigned", "status": "True", "message": history},
        {"type": "Progressing", "status": "True", "reason": "Blocked"},
    ]
    status = {
        "activeInterceptorName": "backup.example.com",
        "activeInterceptorCompleted": True,
        "message": "Cannot evict pod as it would violate the pod's disruption budget.",
        "conditions": conditions,
        "podEvictionStatus": {"failedAPIEvictionCounter": 3},
    }
    request = {
        "metadata": {"name": "u", "namespace": "shop"},
        "spec": {"interceptors": [{"name": "backup.example.com"}]},
        "status": status,
    }
    selecting = {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}}
    budget = msgspec.structs.replace(
        _budget(1, 1, 1),
        metadata=ObjectMeta(name="web", namespace="shop"),
        spec=msgspec.convert(selecting, PodDisruptionBudgetSpec),
    )
    held = blocking(
        msgspec.convert({"metadata": meta}, Pod), msgspec.convert(request, EvictionRequest), [budget], now
    )
    assert held is not None
    assert shown in held.message
    assert remedy in held.remedy
    assert (PREPARED in held.remedy) == (result == "completed")
