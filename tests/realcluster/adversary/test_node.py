"""A node: its shutdown agent's token, which is bound to a pod of the node and so names it."""

from __future__ import annotations

from typing import Any

import pytest

from support.https import Obj
from support.realcluster.adversary import (
    APPLY,
    MERGE,
    OTHER_NODE,
    OWN_NODE,
    PREPARE,
    ROWS,
    TENANTS,
    Site,
    held_by,
    refused,
)
from vacate.api.kinds import EVICTIONREQUESTS, NODES, PODS
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN, SHUTDOWN_TAINT
from vacate.api.objectnames import OWN_NODE as POLICY
from vacate.api.objectnames import OWN_PODS
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import DIALECT_NAMES, DIALECTS
from vacate.install.settings import ShutdownAgent

pytestmark = ROWS
REQUESTER = f"{OWN_NODE}.shutdown.vacate.dev"
STRATEGIC = "application/strategic-merge-patch+json"
SINCE = "2026-01-01T00:00:00Z"


def _condition(kind: str) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "reason": "a",
        "lastTransitionTime": SINCE,
        "lastHeartbeatTime": SINCE,
    }


FOREIGN_OF_PODS: dict[str, Obj] = {
    "labels, by which a pod joins any Service": {"metadata": {"labels": {"app": "other"}}},
    "finalizers": {"metadata": {"finalizers": ["example.com/pin"]}},
    "annotations": {"metadata": {"annotations": {"vacate.dev/termination-reason": "mine"}}},
    "phase": {"status": {"phase": "Succeeded"}},
    "readiness": {"status": {"conditions": [{**_condition("Ready"), "status": "False"}]}},
    "addresses": {"status": {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}]}},
}
FOREIGN_OF_NODES: dict[str, tuple[str, Obj]] = {
    "labels": ("", {"metadata": {"labels": {"node-role": "control-plane"}}}),
    "annotations": ("", {"metadata": {"annotations": {"vacate.dev/fencing-approved": "now"}}}),
    "finalizers": ("", {"metadata": {"finalizers": ["example.com/pin"]}}),
    "podCIDR": ("", {"spec": {"podCIDR": "10.99.0.0/24", "podCIDRs": ["10.99.0.0/24"]}}),
    "cordon": ("", {"spec": {"unschedulable": True}}),
    "foreign taint": ("", {"spec": {"taints": [{"key": "example.com/x", "effect": "NoSchedule"}]}}),
    "addresses": ("status", {"status": {"addresses": [{"type": "InternalIP", "address": "10.9.9.9"}]}}),
    "capacity": ("status", {"status": {"capacity": {"cpu": "9999"}}}),
    "allocatable": ("status", {"status": {"allocatable": {"cpu": "9999"}}}),
    "readiness": ("status", {"status": {"conditions": [{**_condition("Ready"), "status": "False"}]}}),
    "labels through status": ("status", {"metadata": {"labels": {"node-role": "control-plane"}}}),
    "annotations through status": (
        "status",
        {"metadata": {"annotations": {"vacate.dev/fencing-approved": "now"}}},
    ),
}


class TestNode:
    @held_by(OWN_PODS, alone=True)
    @pytest.mark.parametrize("how", ["create", "join", "join by apply"])
    def test_has_no_pod_of_another_node_evicted(self, site: Site, how: str) -> None:
        pod = site.pod(PREPARE)
        name = pod["metadata"]["uid"]
        if how == "create":
            refused(site.agent.request(pod, REQUESTER), OTHER_NODE)
            assert site.requested(pod) is None
            return
        site.admin.request(pod, "admin.example.com").ok()
        both = [{"name": "admin.example.com"}, {"name": REQUESTER}]
        joining: Obj = {"spec": {"requesters": both if how == "join" else [{"name": REQUESTER}]}}
        refused(
            site.agent.change(EVICTIONREQUESTS, name, joining, how=MERGE if how == "join" else APPLY),
            OTHER_NODE,
        )

    @held_by("vacate-confine-shutdown-agent-ev*")
    @pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECT_NAMES)
    def test_changes_nothing_of_a_request_but_that_it_asks_too(self, site: Site, dialect: Dialect) -> None:
        name = site.own_requests[dialect.kind.kind]["metadata"]["name"]
        change = {"metadata": {"annotations": {"vacate.dev/mine": "yes"}}}
        refused(site.agent.change(dialect.kind, name, change))

    def test_requests_the_eviction_of_its_own_pods(self, site: Site) -> None:
        site.agent.request(site.pod(PREPARE, node=OWN_NODE), REQUESTER).ok()

    @held_by(POLICY)
    def test_takes_no_other_name(self, site: Site) -> None:
        refused(site.agent.request(site.pod(PREPARE, node=OWN_NODE), f"{OTHER_NODE}.shutdown.vacate.dev"))

    @held_by(POLICY)
    def test_deletes_no_pod_of_another_node(self, site: Site) -> None:
        pod = site.pod()
        refused(site.agent.delete(PODS, pod["metadata"]["name"]))
        assert site.there(pod)

    @held_by(POLICY)
    def test_writes_no_other_node(self, site: Site) -> None:
        change = {"spec": {"taints": [{"key": SHUTDOWN_TAINT, "effect": "NoSchedule"}]}}
        refused(site.agent.change(NODES, OTHER_NODE, change, how=STRATEGIC))
        status = {"status": {"conditions": [_condition(GRACEFUL_SHUTDOWN)]}}
        refused(site.agent.change(NODES, OTHER_NODE, status, sub="status", how=STRATEGIC))

    @held_by("vacate-confine-shutdown-agent-pods-status")
    @pytest.mark.parametrize("what", FOREIGN_OF_PODS)
    def test_changes_nothing_of_its_pods_but_why_they_end(self, site: Site, what: str) -> None:
        name = site.own["metadata"]["name"]
        refused(site.agent.change(PODS, name, FOREIGN_OF_PODS[what], sub="status", how=STRATEGIC))
        own = {"status": {"conditions": [_condition("DisruptionTarget")]}}
        site.agent.change(PODS, name, own, sub="status", how=STRATEGIC).ok()

    @held_by("vacate-confine-shutdown-agent-nodes*")
    @pytest.mark.parametrize("what", FOREIGN_OF_NODES)
    def test_changes_nothing_of_its_node_but_that_it_shuts_down(self, site: Site, what: str) -> None:
        sub, change = FOREIGN_OF_NODES[what]
        refused(site.agent.change(NODES, OWN_NODE, change, sub=sub, how=STRATEGIC))

    def test_says_that_its_node_shuts_down(self, site: Site) -> None:
        taint: Any = {"key": SHUTDOWN_TAINT, "effect": "NoSchedule"}
        site.agent.change(NODES, OWN_NODE, {"spec": {"taints": [taint]}}, how=STRATEGIC).ok()
        gone = {"spec": {"taints": [{"$patch": "delete", **taint}]}}
        site.agent.change(NODES, OWN_NODE, gone, how=STRATEGIC).ok()
        status = {"status": {"conditions": [_condition(GRACEFUL_SHUTDOWN)]}}
        site.agent.change(NODES, OWN_NODE, status, sub="status", how=STRATEGIC).ok()

    def test_a_token_that_names_no_node_writes_nothing(self, site: Site) -> None:
        pod = site.pod(PREPARE, node=OWN_NODE)
        refused(site.agent_without_node.request(pod, REQUESTER))
        refused(site.agent_without_node.delete(PODS, pod["metadata"]["name"]))

    def test_reads_no_secret_and_runs_no_pod(self, site: Site) -> None:
        refused(site.agent.call("GET", f"/api/v1/namespaces/{TENANTS}/secrets"))
        body = {"metadata": {"name": "mine"}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
        refused(site.agent.create(PODS, body, ShutdownAgent().namespace))
