"""Nodes of a plan are those of the snapshot: what they offer, their taints, and resources of devices."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj
from vacate.plan.fields import reduced
from vacate.plan.forecast import Run, Verdict
from vacate.plan.run import PlanOptions, run_plan
from vacate.plan.snapshot import Snapshot
from vacate.plan.timings import Pace
from vacate.testing.builders import node, pod

pytestmark = pytest.mark.sim

GPU = "nvidia.com/gpu"
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
OWNER = {"apiVersion": "example.com/v1", "kind": "App", "name": "app", "uid": "app", "controller": True}
RUNNING = {"name": "main", "ready": True, "state": {"running": {"startedAt": "2026-03-01T11:00:00Z"}}}


def a_node(name: str, *, allocatable: dict[str, str], **spec: Any) -> Obj:
    offered = {"cpu": "8", "memory": "32Gi", "pods": "10", GPU: "2"}
    status = {"capacity": offered, "allocatable": {**offered, **allocatable}}
    return node(name, metadata={"uid": name}, status=status, spec=spec)


def drained(requests: dict[str, str], second: Obj, **spec: Any) -> Run:
    containers = [{"name": "main", "image": "app", "resources": {"requests": requests, "limits": requests}}]
    status = {"startTime": "2026-03-01T11:00:00Z", "containerStatuses": [RUNNING]}
    meta = {"uid": "p1", "ownerReferences": [OWNER]}
    one = pod(
        "a", node="node-1", ready=True, metadata=meta, spec={"containers": containers, **spec}, status=status
    )
    found = {NODES: [a_node("node-1", allocatable={}), second], PODS: [one]}
    objects = {kind: [reduced(kind, each) for each in some] for kind, some in found.items()}
    snapshot = Snapshot(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), objects)
    return run_plan(snapshot, PlanOptions(("node-1",), {}), Pace.FAST)


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize(
    ("requests", "allocatable", "verdict"),
    [
        ({GPU: "2"}, {}, Verdict.FINISHES),
        ({GPU: "2"}, {GPU: "1"}, Verdict.LACKS_ROOM),
        ({"cpu": "7"}, {}, Verdict.FINISHES),
        ({"cpu": "7"}, {"cpu": "6500m"}, Verdict.LACKS_ROOM),  # less than the capacity
    ],
)
def test_what_a_node_has_to_offer_is_what_it_says(
    requests: dict[str, str], allocatable: dict[str, str], verdict: Verdict
) -> None:
    run = drained(requests, a_node("node-2", allocatable=allocatable))
    assert run.verdict is verdict
    (resource,) = requests
    wanted = float(requests[resource])
    found = [one.resources for one in run.shortfalls]
    assert found == ([] if verdict is Verdict.FINISHES else [{resource: wanted}])


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("tolerant", [False, True])
def test_taints_keep_pods_away(tolerant: bool) -> None:
    spec = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]} if tolerant else {}
    run = drained({"cpu": "1"}, a_node("node-2", allocatable={}, taints=[TAINT]), **spec)
    assert run.verdict is (Verdict.FINISHES if tolerant else Verdict.LACKS_ROOM)
