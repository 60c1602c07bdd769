"""What the server says about itself, and how it refuses what it does not serve."""

from __future__ import annotations

import pytest

from support.kubectl import Kubectl
from support.kubectl_clusters import Cluster

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=2)]
Version = tuple[int, int]

SERVED = {
    ("configmaps", "cm", "v1", "true", "ConfigMap"),
    ("events", "ev", "v1", "true", "Event"),
    ("namespaces", "ns", "v1", "false", "Namespace"),
    ("nodes", "no", "v1", "false", "Node"),
    ("pods", "po", "v1", "true", "Pod"),
    ("serviceaccounts", "sa", "v1", "true", "ServiceAccount"),
    ("deployments", "deploy", "apps/v1", "true", "Deployment"),
    ("replicasets", "rs", "apps/v1", "true", "ReplicaSet"),
    ("selfsubjectreviews", "", "authentication.k8s.io/v1", "false", "SelfSubjectReview"),
    ("selfsubjectaccessreviews", "", "authorization.k8s.io/v1", "false", "SelfSubjectAccessReview"),
    ("subjectaccessreviews", "", "authorization.k8s.io/v1", "false", "SubjectAccessReview"),
    ("leases", "", "coordination.k8s.io/v1", "true", "Lease"),
    ("poddisruptionbudgets", "pdb", "policy/v1", "true", "PodDisruptionBudget"),
    ("clusterrolebindings", "", "rbac.authorization.k8s.io/v1", "false", "ClusterRoleBinding"),
    ("clusterroles", "", "rbac.authorization.k8s.io/v1", "false", "ClusterRole"),
    ("rolebindings", "", "rbac.authorization.k8s.io/v1", "true", "RoleBinding"),
    ("roles", "", "rbac.authorization.k8s.io/v1", "true", "Role"),
    ("priorityclasses", "pc", "scheduling.k8s.io/v1", "false", "PriorityClass"),
}


def test_api_resources(k: Kubectl) -> None:
    table = k("api-resources")
    assert table.columns() == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    assert {tuple(row.values()) for row in table.rows()} >= SERVED
    verbs = k("api-resources -o wide").row("pods")["VERBS"]
    for verb in ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"):
        assert verb in verbs
    assert k("api-resources --api-group=policy -o name").lines() == ["poddisruptionbudgets.policy"]


def test_api_versions(k: Kubectl) -> None:
    assert set(k("api-versions").lines()) >= {api_version for _, _, api_version, _, _ in SERVED}


def test_version(k: Kubectl) -> None:
    server = k("version -o json").json()["serverVersion"]
    assert (server["major"], server["minor"]) == ("1", "37")
    assert server["gitVersion"].startswith("v1.37.")


def test_version_is_its_own(k: Kubectl) -> None:
    assert k("version -o json").json()["serverVersion"]["gitVersion"].endswith("+vacate")


def test_cluster_info(k: Kubectl, cluster: Cluster) -> None:
    """It also asks for Services to list, which are not served everywhere."""
    assert cluster.address in k("cluster-info").out + k("config view").out


def test_raw_paths(k: Kubectl) -> None:
    assert k("get --raw /readyz").ok() == "ok"
    assert "[+]" in k("get --raw /readyz?verbose").ok()
    k("get --raw /apis/example.com/v1/flowers").failed("could not find the requested resource")


def test_explain_needs_a_schema_that_is_not_served(k: Kubectl) -> None:
    k("explain pods").failed("couldn't find resource for")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("logs one", "simulated nodes run no processes"),
        ("exec one -- ls", "the server could not find the requested resource"),
        ("port-forward one 8080:80", "the server could not find the requested resource"),
        ("top pods", "Metrics API not available"),
        ("expose pod one --port=80", ""),
        ("cluster-info", 'the server doesn\'t have a resource type "services"'),
        ("get services", 'the server doesn\'t have a resource type "services"'),
        ("create service clusterip s --tcp=80", "the server could not find the requested resource"),
    ],
)
def test_what_is_not_served_fails_with_a_reason(k: Kubectl, command: str, reason: str) -> None:
    k("run one --image=x:1").ok()
    k("wait --for=condition=Ready pod/one --timeout=60s").ok()
    assert k(command).failed(reason)
