"""`kubectl describe`: the page for people about one object."""

from __future__ import annotations

import re

import pytest

from support.kubectl import Kubectl
from support.manifests import budget, deployment

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=1)]


def field(page: str, name: str) -> str:
    """The value that a page shows beside a name."""
    found = re.search(rf"^\s*{re.escape(name)}:[ \t]*(.*)$", page, re.MULTILINE)
    assert found, f"{name} not in:\n{page}"
    return found[1].strip()


@pytest.fixture
def web(k: Kubectl) -> Kubectl:
    k("create --validate=false -f -", [budget("web", minAvailable=1), deployment("web", 2)]).ok()
    k("rollout status deployment/web --timeout=60s").ok()
    return k


def test_deployment_and_replica_set(web: Kubectl) -> None:
    page = web.until("describe deployment web", lambda ran: "ScalingReplicaSet" in ran.out).ok()
    assert field(page, "Replicas") == "2 desired | 2 updated | 2 total | 2 available | 0 unavailable"
    assert field(page, "StrategyType") == "RollingUpdate"
    assert field(page, "RollingUpdateStrategy") == "25% max unavailable, 25% max surge"
    assert re.search(r"Available\s+True\s+MinimumReplicasAvailable", page)
    assert re.search(r"NewReplicaSet:\s+web-\w+ \(2/2 replicas created\)", page)
    assert re.search(r"ScalingReplicaSet\s.*Scaled up replica set web-\w+ from 0 to 2", page)
    page = web.until("describe rs -l app=web", lambda ran: ran.out.count("SuccessfulCreate") >= 2).ok()
    assert field(page, "Controlled By") == "Deployment/web"
    assert field(page, "Pods Status") == "2 Running / 0 Waiting / 0 Succeeded / 0 Failed"
    assert page.count("SuccessfulCreate") == 2


def test_pod(web: Kubectl) -> None:
    name = web("get pods -o jsonpath='{.items[0].metadata.name}'").ok()
    page = web.until(f"describe pod {name}", lambda ran: "Successfully assigned" in ran.out).ok()
    assert field(page, "Name") == name
    assert field(page, "Status") == "Running"
    assert field(page, "Controlled By").startswith("ReplicaSet/web-")
    assert field(page, "Image") == "web:1"
    assert field(page, "QoS Class") == "BestEffort"
    assert re.search(r"^  Ready\s+True", page, re.MULTILINE)
    assert re.search(rf"Scheduled\s.*Successfully assigned {web.namespace}/{name} to node-\d", page)


def test_budget(web: Kubectl) -> None:
    web("wait --for=condition=DisruptionAllowed pdb/web --timeout=60s").ok()
    page = web("describe pdb web").ok()
    assert field(page, "Min available") == "1"
    assert field(page, "Allowed disruptions") == "1"
    assert (field(page, "Current"), field(page, "Desired"), field(page, "Total")) == ("2", "1", "2")


def test_node(web: Kubectl) -> None:
    page = web("describe node node-1").ok()
    assert field(page, "Taints") == "<none>"
    assert field(page, "Unschedulable") == "false"
    assert field(page, "HolderIdentity") == "node-1"
    assert re.search(r"Ready\s+True\s.*KubeletReady", page)
    assert "Allocated resources:" in page
    here = web("get pods --field-selector spec.nodeName=node-1 -o jsonpath='{.items[*].metadata.name}'").ok()
    for name in here.split():
        assert re.search(rf"{web.namespace}\s+{name}\s", page)


def test_namespace_and_service_account(k: Kubectl) -> None:
    page = k(f"describe namespace {k.namespace}").ok()
    assert field(page, "Status") == "Active"
    page = k.until("describe sa default").ok()
    assert field(page, "Namespace") == k.namespace
    assert field(page, "Image pull secrets") == "<none>"


def test_kinds_without_a_page_of_their_own(k: Kubectl) -> None:
    page = k("describe lease node-2 -n kube-node-lease").ok()
    assert field(page, "Holder Identity") == "node-2"
    page = k("describe priorityclass system-node-critical").ok()
    assert field(page, "Value") == "2000001000"
    page = k("describe clusterrole view").ok()
    assert re.search(r"pods\s+\[\]\s+\[\]\s+\[get list watch\]", page)


def test_what_is_not_there(k: Kubectl) -> None:
    k("describe pod nobody").failed('pods "nobody" not found')
