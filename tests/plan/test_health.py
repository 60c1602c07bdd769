"""`vacate plan --cluster`: what hampers drains anywhere, worst first, each with a command."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api.kinds import (
    DEPLOYMENTS,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    Kind,
)
from vacate.api.objects import Obj
from vacate.api.types.nodemaintenance import PodRules
from vacate.plan.fields import reduced
from vacate.plan.health import Finding, Harm, examine
from vacate.plan.loading import load_objects
from vacate.plan.snapshot import Snapshot
from vacate.testing.builders import deployment, node, pdb, pod, replicaset
from vacate.webhook.kinds import VALIDATING_WEBHOOKS

pytestmark = pytest.mark.unit

TAKEN = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
HASH = "5d8f7"


def snapshot(found: dict[Kind, list[Obj]]) -> Snapshot:
    return Snapshot(TAKEN, {kind: [reduced(kind, one) for one in some] for kind, some in found.items()})


def workload(name: str, *nodes: str, **spec: Any) -> dict[Kind, list[Obj]]:
    """A Deployment with a pod on each of the nodes."""
    labels = {"app": name, "pod-template-hash": HASH}

    def owner(kind: str, name: str, uid: str) -> list[Obj]:
        return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]

    above = {"uid": f"r-{name}", "ownerReferences": owner("Deployment", name, f"d-{name}")}
    inner = f"{name}-{HASH}"
    return {
        DEPLOYMENTS: [deployment(name, replicas=len(nodes), metadata={"uid": f"d-{name}"})],
        REPLICASETS: [replicaset(inner, replicas=len(nodes), labels=labels, metadata=above)],
        PODS: [
            pod(
                f"{inner}-{number}",
                node=at,
                ready=True,
                labels=labels,
                metadata={
                    "uid": f"{name}-{number}",
                    "ownerReferences": owner("ReplicaSet", inner, f"r-{name}"),
                },
                spec=spec,
            )
            for number, at in enumerate(nodes)
        ],
    }


def budget(name: str, app: str, needed: int, pods: int, healthy: int | None = None) -> Obj:
    healthy = pods if healthy is None else healthy
    counts = {"expectedPods": pods, "currentHealthy": healthy, "desiredHealthy": needed}
    allowed = max(healthy - needed, 0)
    return pdb(
        name,
        min_available=needed,
        selector={"app": app},
        metadata={"uid": f"b-{name}", "generation": 1},
        status={"observedGeneration": 1, "disruptionsAllowed": allowed, **counts},
    )


def webhook(name: str, resource: str, policy: str) -> Obj:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource]}
    one = {"name": f"{name}.example.com", "failurePolicy": policy, "timeoutSeconds": 7, "rules": [rule]}
    return {"metadata": {"name": name, "uid": name}, "webhooks": [one]}


def found_in(*parts: dict[Kind, list[Obj]], nodes: list[Obj] | None = None) -> list[Finding]:
    merged: dict[Kind, list[Obj]] = {
        NODES: nodes or [node(name, metadata={"uid": name}) for name in ("a", "b", "c")]
    }
    for part in parts:
        for kind, some in part.items():
            merged.setdefault(kind, []).extend(some)
    return list(examine(snapshot(merged), PodRules()).findings)


def test_a_healthy_cluster_has_no_findings() -> None:
    web = workload("web", "a", "b", "c")
    assert found_in(web, {PODDISRUPTIONBUDGETS: [budget("web", "web", 2, 3)]}) == []


CASES: dict[str, tuple[dict[Kind, list[Obj]], Harm, str, tuple[str, ...], str]] = {
    "a budget that needs all of its pods": (
        {**workload("web", "a", "b"), PODDISRUPTIONBUDGETS: [budget("strict", "web", 2, 2)]},
        Harm.BLOCKS, "budget default/strict", ("a", "b"),
        "kubectl annotate deployment web vacate.dev/move-before-eviction=true -n default",
    ),
    "two budgets": (
        {
            **workload("web", "a", "b"),
            PODDISRUPTIONBUDGETS: [budget("one", "web", 1, 2), budget("two", "web", 1, 2)],
        },
        Harm.BLOCKS, "budget default/one, two", ("a", "b"), "kubectl get pdb one two -n default -o yaml",
    ),
    "a budget whose pods are not healthy": (
        {**workload("web", "a", "b", "c"), PODDISRUPTIONBUDGETS: [budget("web", "web", 2, 3, healthy=2)]},
        Harm.WAITS, "budget default/web", ("a", "b", "c"), "kubectl get pdb web -n default -o yaml",
    ),
    "one pod": (
        workload("web", "b"), Harm.DOWN, "default Deployment/web", ("b",),
        "kubectl annotate deployment web vacate.dev/move-before-eviction=true -n default",
    ),
    "no room": (
        workload("gpu", "a", "b", nodeSelector={"kubernetes.io/hostname": "none"}),
        Harm.NO_ROOM, "default Deployment/gpu", ("a", "b"), "vacate plan a --add-nodes 1=a",
    ),
    "no controller": (
        {PODS: [pod("lone", node="c", ready=True, metadata={"uid": "lone"})]},
        Harm.REFUSED, "pod default/lone", ("c",), "vacate drain c --force",
    ),
    "a webhook on evictions": (
        {
            VALIDATING_WEBHOOKS: [
                webhook("guard", "pods/eviction", "Fail"), webhook("soft", "pods/eviction", "Ignore"),
                webhook("other", "pods", "Fail"),
            ]
        },
        Harm.FAILS_CLOSED, "webhook guard.example.com", (),
        "kubectl get validatingwebhookconfigurations guard -o yaml",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_cause_is_found_with_a_command(case: str) -> None:
    objects, harm, what, nodes, command = CASES[case]
    (one,) = found_in(objects)
    assert (one.harm, one.what, one.nodes) == (harm, what, nodes)
    assert command in one.commands
    load_objects(snapshot({NODES: [node("a", metadata={"uid": "a"})], **objects}))


@pytest.mark.parametrize("served", [True, False])
def test_whether_vacate_is_installed(served: bool) -> None:
    there = Snapshot(TAKEN, {NODEMAINTENANCES: []} if served else {})
    assert examine(there, PodRules()).installed is served


def test_a_node_that_does_not_report() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    down = node("a", metadata={"uid": "a"}, status=ready)
    (one,) = found_in(nodes=[down])
    assert (one.harm, one.commands) == (Harm.BLOCKS, ("kubectl describe node a",))


def test_what_is_moved_before_eviction_does_not_block_and_is_not_down() -> None:
    moved = workload("web", "a")
    key = "interceptor.evictionrequest.coordination.k8s.io/priority_deployment.apps.k8s.io"
    moved[PODS][0]["metadata"]["annotations"] = {key: "10000/controller"}
    assert found_in(moved, {PODDISRUPTIONBUDGETS: [budget("web", "web", 1, 1)]}) == []


RECREATE = {"type": "Recreate"}
NO_SURGE = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
KEY = "interceptor.evictionrequest.coordination.k8s.io/priority_"


def moved(strategy: Obj) -> dict[Kind, list[Obj]]:
    """A Deployment of one pod that has opted in."""
    made = workload("web", "a")
    made[DEPLOYMENTS][0]["spec"]["strategy"] = strategy
    made[DEPLOYMENTS][0]["metadata"]["annotations"] = {"vacate.dev/move-before-eviction": "true"}
    made[PODS][0]["metadata"]["annotations"] = {f"{KEY}deployment.apps.k8s.io": "10000/controller"}
    return made


@pytest.mark.parametrize(
    ("strategy", "command"),
    [
        (RECREATE, "kubectl patch pdb web -n default"),
        (NO_SURGE, "kubectl patch deployment web -n default"),
    ],
    ids=["all pods at once", "no surge"],
)
def test_an_opt_in_that_cannot_work_blocks_for_ever(strategy: Obj, command: str) -> None:
    """With a command that can be followed; and without a budget the pod is down for a while."""
    (held,) = found_in(moved(strategy), {PODDISRUPTIONBUDGETS: [budget("web", "web", 1, 1)]})
    assert (held.harm, held.what) == (Harm.BLOCKS, "budget default/web")
    assert held.commands[0].startswith(command)
    (down,) = found_in(moved(strategy))
    assert down.harm is Harm.DOWN
    assert not [one for one in down.commands if "kubectl annotate" in one]


def test_a_prepared_pod_that_may_go_past_its_own_budget_does_not_block() -> None:
    found = moved(RECREATE)
    found[PODS][0]["metadata"]["annotations"] = {f"{KEY}backup.example.com": "100"}
    strict = {PODDISRUPTIONBUDGETS: [budget("web", "web", 1, 1)]}
    (held, *_) = found_in(found, strict)
    prepare = "kubectl annotate deployment web vacate.dev/delete-when-prepared=true -n default"
    assert (held.harm, held.commands[0]) == (Harm.BLOCKS, prepare)
    found[DEPLOYMENTS][0]["metadata"]["annotations"]["vacate.dev/delete-when-prepared"] = "true"
    assert Harm.BLOCKS not in {one.harm for one in found_in(found, strict)}


def test_the_worst_come_first() -> None:
    lone = {PODS: [pod("lone", node="c", ready=True, metadata={"uid": "lone"})]}
    strict = {**workload("web", "a", "b"), PODDISRUPTIONBUDGETS: [budget("strict", "web", 2, 2)]}
    found = found_in(lone, workload("cron", "b"), strict)
    assert [one.harm for one in found] == [Harm.BLOCKS, Harm.DOWN, Harm.REFUSED]
