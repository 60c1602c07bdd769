"""The manager's stolen token: it evicts pods and scales workloads, and runs nothing of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support.https import Obj, Reply
from support.realcluster.adversary import (
    APPLY,
    MERGE,
    OWN_NODE,
    PREPARE,
    ROLES,
    ROWS,
    STRATEGIC,
    TENANTS,
    Site,
    held_by,
    held_in_code,
    permitted,
    refused,
    rests_on_kubernetes,
)
from vacate.api.kinds import (
    DEPLOYMENTS,
    HORIZONTALPODAUTOSCALERS,
    NODEMAINTENANCES,
    NODES,
    PERSISTENTVOLUMES,
    PODS,
    REPLICASETS,
    Kind,
)
from vacate.fencing.annotations import APPROVED, REQUESTED

pytestmark = ROWS
SYSTEM, NAME = "kube-system", "dns"
COST = "controller.kubernetes.io/pod-deletion-cost"
SINCE = "2026-01-01T00:00:00Z"
LABELS = {"app": NAME}
CONTAINER = {"name": "main", "image": "app:1"}
WORKLOAD = {
    "metadata": {"name": NAME},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}},
    },
}
AUTOSCALER = {
    "metadata": {"name": NAME},
    "spec": {
        "minReplicas": 1,
        "maxReplicas": 2,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME},
    },
}
VOLUME = {
    "metadata": {"name": NAME},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/mnt"},
        "persistentVolumeReclaimPolicy": "Retain",
    },
}
MAINTENANCE = {"metadata": {"name": NAME}, "spec": {"nodes": ["no-such-node"]}}
POD = {"metadata": {"name": NAME}, "spec": {"nodeName": OWN_NODE, "containers": [CONTAINER]}}

OBJECTS: dict[Kind, Obj] = {
    DEPLOYMENTS: WORKLOAD,
    REPLICASETS: WORKLOAD,
    HORIZONTALPODAUTOSCALERS: AUTOSCALER,
    PERSISTENTVOLUMES: VOLUME,
    PODS: POD,
    NODEMAINTENANCES: MAINTENANCE,
}
"""One object of each kind that the manager writes, in the namespace of the system."""


@dataclass(frozen=True)
class Write:
    """One write, by merge patch where nothing else is named."""

    kind: Kind
    change: Any
    how: str = MERGE
    sub: str = ""
    query: str = ""

    def by(self, site: Site) -> Reply:
        """Sent with the manager's token."""
        name = OWN_NODE if self.kind is NODES else site.given(self.kind, OBJECTS[self.kind], SYSTEM)
        return site.manager.change(
            self.kind, name, self.change, SYSTEM, how=self.how, sub=self.sub, query=self.query
        )


def _template(**spec: Any) -> Obj:
    return {"spec": {"template": {"spec": spec}}}


def _container(**changes: Any) -> Obj:
    return _template(containers=[{**CONTAINER, **changes}])


def _annotated(**annotations: str) -> Obj:
    return {"metadata": {"annotations": annotations}}


PRIVILEGED = _container(securityContext={"privileged": True})
NO_MORE_THAN: dict[str, Write] = {
    "a privileged template": Write(DEPLOYMENTS, PRIVILEGED, STRATEGIC),
    "a privileged template, applied": Write(DEPLOYMENTS, PRIVILEGED, APPLY),
    "a privileged template, tried": Write(DEPLOYMENTS, PRIVILEGED, STRATEGIC, query="?dryRun=All"),
    "an image beside the count": Write(
        DEPLOYMENTS, {"spec": {"replicas": 3, **_container(image="mine:1")["spec"]}}, STRATEGIC
    ),
    "a service account": Write(DEPLOYMENTS, _template(serviceAccountName="clusterrole-aggregation")),
    "annotations of a template": Write(
        DEPLOYMENTS, {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}
    ),
    "a paused Deployment": Write(DEPLOYMENTS, {"spec": {"paused": True}}),
    "finalizers of a Deployment": Write(DEPLOYMENTS, {"metadata": {"finalizers": ["example.com/pin"]}}),
    "annotations of a Deployment": Write(
        DEPLOYMENTS, _annotated(**{"kubectl.kubernetes.io/last-applied-configuration": "{}"})
    ),
    "owners of a Deployment": Write(
        DEPLOYMENTS,
        {
            "metadata": {
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "no", "uid": "no-such"}]
            }
        },
    ),
    "a template of a ReplicaSet": Write(REPLICASETS, PRIVILEGED, STRATEGIC),
    "the count of a ReplicaSet": Write(REPLICASETS, {"spec": {"replicas": 3}}),
    "the maximum of an autoscaler": Write(HORIZONTALPODAUTOSCALERS, {"spec": {"maxReplicas": 99}}),
    "the target of an autoscaler": Write(
        HORIZONTALPODAUTOSCALERS, {"spec": {"scaleTargetRef": {"name": "other"}}}
    ),
    "the image of a pod": Write(
        PODS, {"spec": {"containers": [{"name": "main", "image": "mine:1"}]}}, STRATEGIC
    ),
    "the phase of a pod": Write(PODS, {"status": {"phase": "Succeeded"}}, sub="status"),
    "finalizers of a pod, through its status": Write(
        PODS, {"metadata": {"finalizers": ["example.com/pin"]}}, sub="status"
    ),
    "finalizers of a pod": Write(PODS, {"metadata": {"finalizers": ["example.com/pin"]}}),
    "owners of a pod": Write(
        PODS,
        {
            "metadata": {
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "no", "uid": "no-such"}]
            }
        },
    ),
    "the provider of a node": Write(NODES, {"spec": {"providerID": "mine://1"}}),
    "the network of a node": Write(NODES, {"spec": {"podCIDR": "10.9.0.0/24", "podCIDRs": ["10.9.0.0/24"]}}),
    "a foreign taint": Write(
        NODES, {"spec": {"taints": [{"key": "example.com/x", "effect": "NoSchedule"}]}}, STRATEGIC
    ),
    "annotations of a node": Write(NODES, _annotated(**{"node.alpha.kubernetes.io/ttl": "9"})),
    "the readiness of a node": Write(
        NODES,
        {
            "status": {
                "conditions": [
                    {"type": "Ready", "status": "False", "reason": "a", "lastTransitionTime": SINCE}
                ]
            }
        },
        STRATEGIC,
        "status",
    ),
    "the capacity of a node": Write(NODES, {"status": {"capacity": {"cpu": "9999"}}}, sub="status"),
    "the addresses of a node": Write(
        NODES,
        {"status": {"addresses": [{"type": "InternalIP", "address": "10.9.9.9"}]}},
        STRATEGIC,
        "status",
    ),
    "a label of a node": Write(NODES, {"metadata": {"labels": {"disk": "fast"}}}),
    "a label of a node, through its status": Write(
        NODES, {"metadata": {"labels": {"disk": "fast"}}}, sub="status"
    ),
    "a label of a node for a project of Kubernetes": Write(
        NODES, {"metadata": {"labels": {"cluster.x-k8s.io/mine": "x"}}}
    ),
    "the nodes of a maintenance": Write(NODEMAINTENANCES, {"spec": {"nodes": [OWN_NODE]}}),
    "the reclaim policy of a volume": Write(
        PERSISTENTVOLUMES, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}
    ),
    "what a person says about a volume": Write(
        PERSISTENTVOLUMES, _annotated(**{"vacate.dev/exclusive": "false"})
    ),
}
ITS_WORK: dict[str, Write] = {
    "the count of a Deployment": Write(DEPLOYMENTS, {"spec": {"replicas": 0}}),
    "the minimum of an autoscaler": Write(HORIZONTALPODAUTOSCALERS, {"spec": {"minReplicas": 1}}),
    "the deletion cost of a pod": Write(PODS, _annotated(**{COST: "1"})),
    "a cordon": Write(NODES, {"spec": {"unschedulable": False}}),
}  # fmt: skip


class TestManagersToken:
    @held_by("vacate-confine-manager-*")
    @pytest.mark.parametrize("what", NO_MORE_THAN)
    def test_changes_nothing_but_what_the_manager_writes(self, site: Site, what: str) -> None:
        refused(NO_MORE_THAN[what].by(site))

    @permitted
    @pytest.mark.parametrize("what", ITS_WORK)
    def test_does_the_managers_work_where_others_change_objects_too(self, site: Site, what: str) -> None:
        """A company's policy labels what is written: that must not stop a drain."""
        ITS_WORK[what].by(site).ok()

    @held_in_code("row-manager-fence")
    @pytest.mark.parametrize("mark", [APPROVED, REQUESTED])
    def test_approves_no_fence_and_requests_none(self, site: Site, mark: str) -> None:
        refused(site.manager.change(NODES, OWN_NODE, _annotated(**{mark: "now"})))

    @held_by(ROLES)
    def test_reads_no_secret(self, site: Site) -> None:
        for namespace in (SYSTEM, TENANTS, "vacate-system"):
            refused(site.manager.call("GET", f"/api/v1/namespaces/{namespace}/secrets"))

    @held_by(ROLES)
    def test_runs_no_pod_and_no_job(self, site: Site) -> None:
        pod = {"metadata": {"name": "mine"}, "spec": {"containers": [CONTAINER]}}
        for namespace in (SYSTEM, TENANTS, "vacate-system"):
            refused(site.manager.create(PODS, pod, namespace))
            refused(site.manager.create(DEPLOYMENTS, WORKLOAD, namespace))
            refused(
                site.manager.change(DEPLOYMENTS, "mine", {"spec": WORKLOAD["spec"]}, namespace, how=APPLY)
            )

    @held_by(ROLES)
    def test_takes_no_rights(self, site: Site) -> None:
        group = "/apis/rbac.authorization.k8s.io/v1"
        path = f"{group}/clusterrolebindings/vacate-manager"
        refused(site.manager.call("PATCH", path, {"subjects": []}, MERGE))
        path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/clusterrole-aggregation-controller/token"
        refused(site.manager.call("POST", path, {"spec": {}}))

    @rests_on_kubernetes
    def test_evicts_within_budgets_only(self, site: Site) -> None:
        pod = site.pod(PREPARE, labels={"app": "held"})
        budget = {
            "metadata": {"name": "held"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "held"}}},
        }
        group = f"/apis/policy/v1/namespaces/{TENANTS}/poddisruptionbudgets"
        site.admin.call(
            "POST", group, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **budget}
        ).ok()
        assert site.manager.evict(pod["metadata"]["name"]).code == 429
        assert site.there(pod)
