"""Scenarios of drains: what is in a cluster of three nodes, and what a plan has to say of it.

Each is held against a drain in virtual time (`tests/plan`) and against one on a real control plane
(`tests/realcluster/test_plans.py`), there on nodes and in a namespace of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from vacate.api.kinds import (
    DAEMONSETS,
    DEPLOYMENTS,
    HORIZONTALPODAUTOSCALERS,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    STATEFULSETS,
    Kind,
)
from vacate.api.objects import Obj
from vacate.eviction.registration import PREFIXES
from vacate.plan.forecast import Verdict
from vacate.testing.builders import daemonset, deployment, horizontalpodautoscaler, pdb, pod, statefulset

NODES_OF_THE_DRAIN = ("node-1", "node-2")
ZONE = "topology.kubernetes.io/zone"
BACKUP = "backup.example.com"
MOVING: dict[str, Any] = {"metadata": {"annotations": {"vacate.dev/move-before-eviction": "true"}}}


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Objects of a cluster of three nodes, options of the drain, and what it comes to."""

    objects: tuple[tuple[Kind, Obj], ...]
    verdict: Verdict
    spec: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    blockers: frozenset[str] = frozenset()
    interceptors: Mapping[str, float | None] = dataclasses.field(
        default_factory=dict
    )  # seconds; None: silent
    stop: float | None = None  # seconds, as --stop-time
    real: bool = True  # whether it is quick enough for a control plane in real time


def requesting(cpu: str) -> Obj:
    requests = {"resources": {"requests": {"cpu": cpu}}}
    return {"containers": [{"name": "main", "image": "registry.example/app:1", **requests}]}


def template(app: str, spec: Obj) -> Obj:
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def with_volume(name: str, zone: str) -> tuple[tuple[Kind, Obj], ...]:
    """A Deployment of one, whose volume can be reached from one zone only."""
    size, modes = {"storage": "1Gi"}, ["ReadWriteOnce"]
    term = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
    reach = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
    volume = {
        "metadata": {"name": name},
        "spec": {
            "capacity": size,
            "accessModes": modes,
            "hostPath": {"path": "/data"},
            "nodeAffinity": reach,
            "storageClassName": "",
        },
    }
    claim = {
        "metadata": {"name": name},
        "spec": {
            "accessModes": modes,
            "volumeName": name,
            "storageClassName": "",
            "resources": {"requests": size},
        },
    }
    source = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    spec = {**requesting("1"), "volumes": [source]}
    return (
        (PERSISTENTVOLUMES, volume),
        (PERSISTENTVOLUMECLAIMS, claim),
        (DEPLOYMENTS, deployment(name, replicas=1, template=template(name, spec))),
    )


def placed(node: str) -> Obj:
    """On this node as long as it takes pods, and on any other one then."""
    prefers = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    terms = [{"weight": 100, "preference": prefers}]
    return {
        "spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}
    }


def apart(app: str) -> Obj:
    """One pod for each node."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"spec": {"affinity": {"podAntiAffinity": required}}}


def spread(app: str) -> Obj:
    """As many pods in each zone."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"spec": {"topologySpreadConstraints": [constraint]}}


def prepared() -> Obj:
    return {"metadata": {"annotations": {f"{PREFIXES[0]}/priority_{BACKUP}": "10"}}}


def unready() -> Obj:
    return {"metadata": {"annotations": {"sim.vacate.dev/ready-seconds": "never"}}}


def taking(*, start: int, stop: int) -> Obj:
    seconds = {"sim.vacate.dev/start-seconds": str(start), "sim.vacate.dev/stop-seconds": str(stop)}
    return {"metadata": {"annotations": seconds}}


SCENARIOS = {
    "room within the budget": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3)), (PODDISRUPTIONBUDGETS, pdb("web", min_available=2))),
        Verdict.FINISHES,
    ),
    "two nodes at a time": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=6)), (PODDISRUPTIONBUDGETS, pdb("web", min_available=5))),
        Verdict.FINISHES,
        {"maxNodes": 2},
    ),
    "a budget that never allows an eviction": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3)), (PODDISRUPTIONBUDGETS, pdb("web", min_available=3))),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "the same, moved before eviction": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3, **MOVING)),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=3)),
        ),
        Verdict.FINISHES,
    ),
    "members of a StatefulSet": Scenario(
        ((STATEFULSETS, statefulset("db", replicas=3)), (PODDISRUPTIONBUDGETS, pdb("db", min_available=2))),
        Verdict.FINISHES,
    ),
    "a pod that nothing re-creates": Scenario(
        ((PODS, pod("lone", spec={"nodeName": "node-1"})),),
        Verdict.BLOCKS,
        blockers=frozenset({"UnmanagedPod"}),
    ),
    "no room": Scenario(
        ((DEPLOYMENTS, deployment("big", replicas=3, template=template("big", requesting("5")))),),
        Verdict.LACKS_ROOM,
    ),
    "a share of the pods may be away": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=6)),
            (PODDISRUPTIONBUDGETS, pdb("web", max_unavailable="34%")),
        ),
        Verdict.FINISHES,
        {"maxNodes": "100%"},
    ),
    "a single replica without a budget": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=1, template=placed("node-1"))),), Verdict.FINISHES
    ),
    "a budget that needs both pods of one node": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=2, template=placed("node-1"))),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=2)),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "two budgets for one pod": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3)),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=1)),
            (PODDISRUPTIONBUDGETS, pdb("all", min_available=1, selector={"app": "web"})),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "a pod that nothing re-creates, evicted all the same": Scenario(
        ((PODS, pod("lone", spec={"nodeName": "node-1"})),),
        Verdict.FINISHES,
        {"pods": {"unmanagedPods": "Evict"}},
    ),
    "local data": Scenario(
        (
            (
                DEPLOYMENTS,
                deployment(
                    "web", replicas=3, template={"spec": {"volumes": [{"name": "a", "emptyDir": {}}]}}
                ),
            ),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"LocalData"}),
    ),
    "pods of a DaemonSet": Scenario(
        ((DAEMONSETS, daemonset("logs")),), Verdict.BLOCKS, blockers=frozenset({"DaemonSetPod"})
    ),
    "pods of a DaemonSet, left alone": Scenario(
        ((DAEMONSETS, daemonset("logs")), (DEPLOYMENTS, deployment("web", replicas=3))),
        Verdict.FINISHES,
        {"pods": {"daemonSetPods": "Ignore"}},
    ),
    "lower priorities first": Scenario(
        (
            (PRIORITYCLASSES, {"metadata": {"name": "planned-high"}, "value": 1000}),
            (
                DEPLOYMENTS,
                deployment("db", replicas=3, template={"spec": {"priorityClassName": "planned-high"}}),
            ),
            (DEPLOYMENTS, deployment("web", replicas=3)),
        ),
        Verdict.FINISHES,
        {"order": "StrictPriority"},
    ),
    "one zone at a time": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=6)),),
        Verdict.FINISHES,
        {"maxNodes": 2, "topologyKey": ZONE},
    ),
    "pods that keep apart": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3, template=apart("web"))),), Verdict.LACKS_ROOM
    ),
    "pods that keep apart, with a budget": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3, template=apart("web"))),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=2)),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "no room to move before eviction": Scenario(
        (
            (DEPLOYMENTS, deployment("big", replicas=3, template=template("big", requesting("5")), **MOVING)),
            (PODDISRUPTIONBUDGETS, pdb("big", min_available=3)),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"Replacement"}),
    ),
    "an interceptor that prepares each pod": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3, template=prepared())),),
        Verdict.FINISHES,
        interceptors={BACKUP: 20.0},
    ),
    "an interceptor that never answers": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=2, template=prepared())),),
        Verdict.FINISHES,
        {"maxNodes": 2, "heartbeatDeadlineSeconds": 600},
        interceptors={BACKUP: None},
        real=False,
    ),
    "an interceptor that never answers, and a deadline that deletes": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=2, template=prepared())),),
        Verdict.FINISHES,
        {"maxNodes": 2, "deadlineSeconds": 25, "onDeadline": "Delete"},
        interceptors={BACKUP: None},
    ),
    "a budget, and a deadline that deletes": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3)), (PODDISRUPTIONBUDGETS, pdb("web", min_available=3))),
        Verdict.FINISHES,
        {"deadlineSeconds": 20, "onDeadline": "Delete"},
    ),
    "a budget, and a deadline that is reported": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3)), (PODDISRUPTIONBUDGETS, pdb("web", min_available=3))),
        Verdict.BLOCKS,
        {"deadlineSeconds": 20},
        blockers=frozenset({"DisruptionBudget", "DeadlinePassed"}),
    ),
    "pods that are not ready, behind a budget": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3, template=unready())),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=1)),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "pods that are not ready, which their budget lets go": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3, template=unready())),
            (
                PODDISRUPTIONBUDGETS,
                pdb("web", min_available=1, spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"}),
            ),
        ),
        Verdict.FINISHES,
    ),
    "an autoscaler that allows no replacement": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=1, template=placed("node-1"), **MOVING)),
            (HORIZONTALPODAUTOSCALERS, horizontalpodautoscaler("web", most=1)),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=1)),
        ),
        Verdict.BLOCKS,
        blockers=frozenset({"DisruptionBudget"}),
    ),
    "an autoscaler that allows a replacement": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=1, template=placed("node-1"), **MOVING)),
            (HORIZONTALPODAUTOSCALERS, horizontalpodautoscaler("web", most=2)),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=1)),
        ),
        Verdict.FINISHES,
    ),
    "pods that are spread over zones": Scenario(
        ((DEPLOYMENTS, deployment("web", replicas=3, template=spread("web"))),), Verdict.LACKS_ROOM
    ),
    "pods of which it is known how long they stop": Scenario(
        ((STATEFULSETS, statefulset("db", replicas=3, template=taking(start=3, stop=8))),),
        Verdict.FINISHES,
        stop=8.0,
    ),
    "pods that start slowly behind a budget": Scenario(
        (
            (DEPLOYMENTS, deployment("web", replicas=3, template=taking(start=20, stop=10))),
            (PODDISRUPTIONBUDGETS, pdb("web", min_available=2)),
        ),
        Verdict.FINISHES,
    ),
    "a volume in the zone of the only node": Scenario(with_volume("db-a", "zone-a"), Verdict.LACKS_ROOM),
    "a volume in another zone": Scenario(with_volume("db-c", "zone-c"), Verdict.FINISHES),
}
