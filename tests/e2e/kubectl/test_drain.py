"""`kubectl cordon`, `uncordon` and `drain`, with budgets in the way."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from support.https import Https
from support.kubectl import Kubectl
from support.manifests import budget, deployment, on_node, pod

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=2)]

NODE = "node-2"


@pytest.fixture(autouse=True)
def node_again(admin: Https) -> Iterator[None]:
    """The node takes pods again after each test."""
    yield
    admin.patch(f"/api/v1/nodes/{NODE}", {"spec": {"unschedulable": None}})


def drain(k: Kubectl, options: str = "") -> str:
    """Only this test's pods: others' leave the node on their own time."""
    return f"drain {NODE} --pod-selector=e2e={k.namespace} {options}"


def mine(k: Kubectl) -> dict[str, str]:
    return {"e2e": k.namespace}


def placed(k: Kubectl, replicas: int, **pod_spec: Any) -> None:
    """A Deployment whose pods are on the node, ready."""
    web = deployment("web", replicas, **on_node(NODE), **pod_spec)
    web["spec"]["template"]["metadata"]["labels"].update(mine(k))
    k("create --validate=false -f -", web).ok()
    k("rollout status deployment/web --timeout=60s").ok()


def first_refusal(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return next(line for line in process.stderr if "disruption budget" in line)


def test_cordon_and_uncordon(k: Kubectl) -> None:
    k(f"cordon {NODE}").printed(f"node/{NODE} cordoned")
    k(f"cordon {NODE}").printed(f"node/{NODE} already cordoned")
    assert k("get nodes").row(NODE)["STATUS"] == "Ready,SchedulingDisabled"
    taints = k(f"get node {NODE} -o jsonpath='{{.spec.taints[*].key}}'").ok()
    k("create --validate=false -f -", pod("one", **on_node(NODE))).ok()
    k("wait --for=condition=PodScheduled=false pod/one --timeout=60s").ok()
    k(f"uncordon {NODE}").printed(f"node/{NODE} uncordoned")
    k("wait --for=condition=Ready pod/one --timeout=60s").ok()
    assert taints in ("", "node.kubernetes.io/unschedulable")


def test_a_drain_waits_for_the_budget_or_gives_up(k: Kubectl) -> None:
    """kubectl asks again after five seconds; the drain that gives up waits beside the one that does not."""
    placed(k, 1)
    k("create --validate=false -f -", budget("web", maxUnavailable=0)).ok()
    with k.start(drain(k, "--timeout=8s")) as hasty, k.start(drain(k, "--timeout=60s")) as patient:
        for process in (hasty, patient):
            refusal = first_refusal(process)
            assert "Cannot evict pod as it would violate the pod's disruption budget." in refusal
            assert "will retry after 5s" in refusal
        _, gave_up = hasty.communicate(timeout=60)
        assert [row["STATUS"] for row in k("get pods").rows()] == ["Running"]
        k('patch pdb web --type=merge -p \'{"spec":{"maxUnavailable":1}}\'').ok()
        out, _ = patient.communicate(timeout=60)
    assert hasty.returncode == 1
    assert "global timeout reached: 8s" in gave_up
    assert patient.returncode == 0
    assert "evicted" in out
    replacement = k("get pods").rows()
    assert [row["STATUS"] for row in replacement] == ["Pending"]  # the only node that it may use is cordoned


def test_pods_without_a_controller_need_force(k: Kubectl) -> None:
    k("create --validate=false -f -", pod("alone", labels=mine(k), **on_node(NODE))).ok()
    k("wait --for=condition=Ready pod/alone --timeout=60s").ok()
    k(drain(k)).failed("use --force to override", f"{k.namespace}/alone")
    k(drain(k, "--force --timeout=60s")).printed("pod/alone evicted")
    k("get pod alone").failed("NotFound")


def test_pods_with_local_data_need_consent(k: Kubectl) -> None:
    placed(k, 1, volumes=[{"name": "scratch", "emptyDir": {}}])
    k(drain(k)).failed("use --delete-emptydir-data to override")
    k(drain(k, "--delete-emptydir-data --ignore-daemonsets --timeout=60s")).printed(f"node/{NODE}", "evicted")


def test_a_dry_run_evicts_nobody(k: Kubectl) -> None:
    placed(k, 1)
    before = k("get pods -o name").lines()
    k(drain(k, "--dry-run=server")).printed(f"node/{NODE} cordoned (server dry run)", "(server dry run)")
    assert k("get nodes").row(NODE)["STATUS"] == "Ready"
    assert k("get pods -o name").lines() == before


def test_without_eviction_pods_are_deleted(k: Kubectl) -> None:
    placed(k, 1)
    k("create --validate=false -f -", budget("web", maxUnavailable=0)).ok()
    k(drain(k, "--disable-eviction --timeout=60s")).printed("deleted")
