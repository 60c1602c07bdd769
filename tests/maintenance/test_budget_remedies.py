"""What helps against a disruption budget that refuses."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from vacate.api.types import Deployment, HorizontalPodAutoscaler, ObjectMeta, Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.policy import PodDisruptionBudgetSpec
from vacate.controllers.nodemaintenance.attempts import RememberedRefusals
from vacate.eviction.records.history import PastTurn, TurnResult, write_history
from vacate.kube.workloads import Workload
from vacate.maintenance.blockers import blocking, budget_remedy, from_refusal
from vacate.views.budgets import budget_remedies

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


RefusedFor = tuple[
    Pod, EvictionRequest, Sequence[PodDisruptionBudget], Sequence[Pod], Workload | None
]  # what a refusal is explained from
APP = {"app": "web"}
OWNED = {"kind": "ReplicaSet", "name": "my-web-5d9f", "controller": True}
RECREATE = {"strategy": {"type": "Recreate"}}
NO_SURGE = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
SURGE = '"spec":{"strategy":{"rollingUpdate":{"maxSurge":1}}}'
AWAY = "kubectl patch pdb web -n shop --type merge -p"
SCALE = "kubectl scale deployment my-web"
MOVED_FIRST = '{"vacate.dev/move-before-eviction":"true"}'
OPTED_IN = {"vacate.dev/move-before-eviction": "true"}
OPTED_OUT = {"vacate.dev/move-before-eviction": "false"}
PATCH = "kubectl patch deployment my-web -n shop --type merge -p"
ANNOTATE = "kubectl annotate deployment my-web vacate.dev/move-before-eviction=true -n shop"


def _pod(annotations: dict[str, str]) -> Pod:
    labels = {"pod-template-hash": "5d9f", "app": "web"}
    meta = {"name": "my-web-5d9f-x", "namespace": "shop", "labels": labels, "annotations": annotations}
    return msgspec.convert({"metadata": {**meta, "ownerReferences": [OWNED]}}, Pod)


def _workload(
    spec: Mapping[str, object], annotations: dict[str, str] | None = None, *most: int, **meta: object
) -> Workload:
    """A Deployment of one replica, and autoscalers with these maxReplicas."""
    about = {"name": "my-web", "namespace": "shop", "annotations": annotations or {}, **meta}
    made = msgspec.convert({"metadata": about, "spec": {"replicas": 1, **spec}}, Deployment)
    scalers = [
        {"metadata": {"name": f"hpa{number}", "namespace": "shop"}, "spec": {"maxReplicas": one}}
        for number, one in enumerate(most)
    ]
    return Workload(made, [msgspec.convert(one, HorizontalPodAutoscaler) for one in scalers])


def _in_shop() -> PodDisruptionBudget:
    selecting = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    return msgspec.structs.replace(
        _budget(1, 1, 1),
        metadata=ObjectMeta(name="web", namespace="shop"),
        spec=msgspec.convert(selecting, PodDisruptionBudgetSpec),
    )


CAPABLE: dict[str, tuple[Workload | None, dict[str, str], str]] = {
    "not read": (None, {}, ANNOTATE),
    "as by default": (_workload({}), {}, ANNOTATE),
    "opted out": (_workload({}, OPTED_OUT), {}, f"{ANNOTATE} --overwrite"),
    "opted in, and not registered yet": (_workload({}, OPTED_IN), {}, SCALE),
    "all pods at once": (_workload(RECREATE), {}, AWAY),
    "all pods at once, registered": (_workload(RECREATE, OPTED_IN), MOVED, AWAY),
    "all pods at once, with a hook": (
        _workload(RECREATE), HOOK,
        "kubectl annotate deployment my-web vacate.dev/delete-when-prepared=true -n shop",
    ),
    "no surge": (
        _workload(NO_SURGE), {},
        f"""{PATCH} '{{"metadata":{{"annotations":{MOVED_FIRST}}},{SURGE}}}'""",
    ),
    "no surge, registered": (
        _workload(NO_SURGE, OPTED_IN), MOVED,
        f"{PATCH} '{{{SURGE}}}'",
    ),
    "an autoscaler with room": (_workload(NO_SURGE, None, 3), {}, ANNOTATE),
    "an autoscaler without room": (
        _workload({}, None, 1), {},
        """kubectl patch hpa hpa0 -n shop --type merge -p '{"spec":{"maxReplicas":2}}' && """ + ANNOTATE,
    ),
    "an autoscaler without room, registered": (
        _workload({}, OPTED_IN, 1), MOVED,
        """kubectl patch hpa hpa0 -n shop --type merge -p '{"spec":{"maxReplicas":2}}'""",
    ),
    "two autoscalers": (_workload({}, None, 3, 3), {}, AWAY),
    "being deleted": (_workload({}, deletionTimestamp="2026-01-01T00:00:00Z"), {}, SCALE),
}  # fmt: skip


@pytest.mark.parametrize("case", CAPABLE)
def test_the_first_remedy_is_one_that_the_workload_can_follow(case: str) -> None:
    workload, annotations, command = CAPABLE[case]
    first = budget_remedies(_pod(annotations), _in_shop(), workload=workload)[0]
    exact = command.startswith(
        (ANNOTATE, "kubectl annotate", "kubectl patch deployment", "kubectl patch hpa")
    )
    assert first.command == command if exact else first.command.startswith(command)


def test_a_replica_that_an_autoscaler_would_take_back_is_added_to_its_minimum() -> None:
    ways = budget_remedies(_pod(MOVED), _in_shop(), workload=_workload({}, OPTED_IN, 1))
    patch = """kubectl patch hpa hpa0 -n shop --type merge -p '{"spec":{"minReplicas":2,"maxReplicas":2}}'"""
    assert patch in [one.command for one in ways]
    assert not [one for one in ways if "kubectl scale" in one.command]


@pytest.mark.parametrize(
    ("spec", "command"),
    [(NO_SURGE, "kubectl patch deployment my-web"), (RECREATE, AWAY), ({}, "vacate retry my-web-5d9f-x")],
    ids=["no surge", "all pods at once", "another cause"],
)
def test_another_turn_is_no_remedy_where_the_workload_has_to_change(
    spec: dict[str, object], command: str
) -> None:
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    turn = PastTurn("deployment.apps.k8s.io", now, TurnResult.DECLINED, now, "it cannot")
    status = {
        "activeInterceptorName": turn.interceptor,
        "activeInterceptorCompleted": True,
        "message": "Cannot evict pod as it would violate the pod's disruption budget.",
        "conditions": [
            {"type": "InterceptorAssigned", "status": "True", "message": write_history([turn])},
            {"type": "Progressing", "status": "True", "reason": "Blocked"},
        ],
        "podEvictionStatus": {"failedAPIEvictionCounter": 3},
    }
    request = msgspec.convert(
        {
            "metadata": {"name": "u", "namespace": "shop"},
            "spec": {"interceptors": [{"name": turn.interceptor}]},
            "status": status,
        },
        EvictionRequest,
    )
    workload = _workload(spec, OPTED_IN)
    held = blocking(_pod(MOVED), request, [_in_shop()], now, workload=lambda _: workload)
    assert held is not None
    assert "deployment.apps.k8s.io declined: it cannot." in held.message
    assert held.remedies[0].command.startswith(command)
    retried = [one for one in held.remedies if one.command.startswith("vacate retry")]
    assert bool(retried) is (not spec)


def test_remembered_refusals_are_what_they_would_be_now() -> None:
    def refused(message: str) -> EvictionRequest:
        return msgspec.convert({"metadata": {"name": "u"}, "status": {"message": message}}, EvictionRequest)

    healed = msgspec.structs.replace(_in_shop(), status=_budget(3, 1, 1).status)
    waiting = msgspec.structs.replace(_pod({}), metadata=ObjectMeta(name="w", namespace="shop", labels=APP))
    asked: list[RefusedFor] = [
        (_pod(MOVED), refused("no"), [_in_shop()], [], None),
        (_pod({}), refused("no"), [_in_shop()], [], None),
        (_pod({}), refused("no"), [_in_shop()], [], _workload({}, OPTED_OUT)),
        (_pod({}), refused("no"), [_in_shop()], [], _workload(RECREATE)),
        (_pod({}), refused("no"), [healed], [], None),
        (_pod({}), refused("no"), [healed], [waiting], None),
        (_pod({}), refused("no"), [], [waiting], None),
        (_pod({}), refused("by a webhook"), [], [waiting], None),
    ]
    remembered = RememberedRefusals()
    for one in asked:
        assert remembered.blocker(*one) == from_refusal(*one)
        assert remembered.blocker(*one) is remembered.blocker(*one)
    assert len({str(from_refusal(*one)) for one in asked}) == len(asked), "each says something else"
