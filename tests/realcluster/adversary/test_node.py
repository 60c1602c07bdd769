"""A node: its shutdown agent's token, which is bound to a pod of the node and so names it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.https import Obj
from support.nodes.shutdown_agents import Kubelet, LockHolder, PipeLogind, eventually
from support.realcluster.adversary import (
    AGENTS,
    APPLY,
    MERGE,
    OTHER_NODE,
    OWN_NODE,
    PREPARE,
    ROLES,
    ROWS,
    TENANTS,
    Account,
    Site,
    held_by,
    new_request,
    permitted,
    refused,
)
from support.realcluster.audit import calls
from vacate.api.installednames import NODE_REQUESTS, OWN_PODS, SHUTDOWN_AGENT
from vacate.api.installednames import OWN_NODE as POLICY
from vacate.api.kinds import EVICTIONREQUESTS, NODES, PODS
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS, SHUTDOWN_TAINT
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.registry import OWN_DIALECTS
from vacate.install.settings import ShutdownAgent
from vacate.metrics import Metrics
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdownagent.agent import ShutdownAgentSettings
from vacate.wiring.components import ComponentContext
from vacate.wiring.shutdownagent import build_shutdown_agent

pytestmark = ROWS
REQUESTER = f"{OWN_NODE}.shutdown.vacate.dev"
ACCOUNTS = ["agent", "node"]
"""The shutdown agent, and the identity of the node itself."""
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

    @held_by("vacate-confine-shutdown-agent-ev*", "vacate-confine-node-ev*")
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("account", ACCOUNTS)
    def test_changes_nothing_of_a_request_but_that_it_asks_too(
        self, site: Site, account: str, dialect: Dialect
    ) -> None:
        name = site.own_requests[dialect.kind.kind]["metadata"]["name"]
        change = {"metadata": {"annotations": {"vacate.dev/mine": "yes"}}}
        refused(getattr(site, account).change(dialect.kind, name, change))

    @held_by(POLICY, NODE_REQUESTS)
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("account", ACCOUNTS)
    def test_withdraws_no_request_of_others(self, site: Site, account: str, dialect: Dialect) -> None:
        """Also about pods of its own node."""
        who: Account = getattr(site, account)
        request = site.own_requests[dialect.kind.kind]
        name = request["metadata"]["name"]
        change: Obj = {"spec": {"requesters": []}}
        if dialect is EVACUATION:
            change = {"metadata": {"finalizers": []}}
        refused(who.change(dialect.kind, name, change))
        refused(who.delete(dialect.kind, name))

    @held_by(POLICY, NODE_REQUESTS)
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    def test_removes_no_request_for_a_pod_of_another_node(self, site: Site, dialect: Dialect) -> None:
        """Its interceptors would begin anew, as often as the node likes. Policies about pods refuse it."""
        name = site.active(PREPARE, dialect)["metadata"]["name"]
        for who in (site.node, site.agent):
            refused(who.delete(dialect.kind, name))

    @permitted
    @pytest.mark.parametrize("account", ACCOUNTS)
    def test_requests_the_eviction_of_its_own_pods(self, site: Site, account: str) -> None:
        getattr(site, account).request(site.pod(PREPARE, node=OWN_NODE), REQUESTER).ok()

    @held_by(POLICY, NODE_REQUESTS)
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("account", ACCOUNTS)
    def test_takes_no_other_name(self, site: Site, account: str, dialect: Dialect) -> None:
        made = new_request(site.own, dialect, f"{OTHER_NODE}.shutdown.vacate.dev")
        refused(getattr(site, account).create(dialect.kind, made, query="?dryRun=All"))

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

    @permitted
    def test_says_that_its_node_shuts_down(self, site: Site) -> None:
        taint: Any = {"key": SHUTDOWN_TAINT, "effect": "NoSchedule"}
        site.agent.change(NODES, OWN_NODE, {"spec": {"taints": [taint]}}, how=STRATEGIC).ok()
        gone = {"spec": {"taints": [{"$patch": "delete", **taint}]}}
        site.agent.change(NODES, OWN_NODE, gone, how=STRATEGIC).ok()
        status = {"status": {"conditions": [_condition(GRACEFUL_SHUTDOWN)]}}
        site.agent.change(NODES, OWN_NODE, status, sub="status", how=STRATEGIC).ok()

    @held_by(POLICY)
    def test_a_token_that_names_no_node_writes_nothing(self, site: Site) -> None:
        pod = site.pod(PREPARE, node=OWN_NODE)
        refused(site.agent_without_node.request(pod, REQUESTER))
        refused(site.agent_without_node.delete(PODS, pod["metadata"]["name"]))

    @held_by(ROLES)
    def test_reads_no_secret_and_runs_no_pod(self, site: Site) -> None:
        refused(site.agent.call("GET", f"/api/v1/namespaces/{TENANTS}/secrets"))
        body = {"metadata": {"name": "mine"}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
        refused(site.agent.create(PODS, body, ShutdownAgent().namespace))

    @permitted
    def test_lists_all_pods(self, site: Site) -> None:
        """What remains open: a role cannot narrow it to a node, and reading asks no policy."""
        site.agent.call("GET", PODS.collection_path("")).ok()


THIRD_NODE = "node-3"
"""A node of which nothing else here has pods."""


@contextlib.asynccontextmanager
async def shutdown_agent(site: Site, folder: Path) -> AsyncIterator[PipeLogind]:
    """The shutdown agent of the third node, with its own token; its logind alone is played."""
    own = site.agent_pod(THIRD_NODE)
    user = {"token": site.token(AGENTS, SHUTDOWN_AGENT, own)}
    config = load_cluster([site.cluster.as_user("third-agent", user)])
    logind, holder = PipeLogind(), LockHolder()
    shutdown = ShutdownConfig(buckets=(Bucket(0, 60.0),))
    settings = ShutdownAgentSettings(THIRD_NODE, shutdown, folder, own["metadata"]["uid"], "boot")
    around = ComponentContext(SystemClock(), system_entropy(), Metrics())
    transport = HttpTransport(config, SystemClock())
    agent = build_shutdown_agent(transport, Kubelet(), settings, logind, holder, around)
    task = asyncio.create_task(agent.run(asyncio.Event()))
    try:
        yield logind
    finally:
        task.cancel()
        await asyncio.wait([task])
        await logind.stop()
        await holder.release()
        logind.close_all()
        await transport.aclose()


def _marks(site: Site) -> tuple[bool, set[str]]:
    """Whether the third node has the taint of a shutdown, and which of its conditions are true."""
    node = site.admin.get(NODES, THIRD_NODE).ok()
    taints = [one["key"] for one in node["spec"].get("taints", [])]
    true = {one["type"] for one in node["status"]["conditions"] if one["status"] == "True"}
    return SHUTDOWN_TAINT in taints, true & {GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS}


class TestShutdownAgent:
    @permitted
    async def test_shuts_its_node_down_and_writes_nothing_that_a_policy_refuses(
        self, site: Site, tmp_path: Path
    ) -> None:
        """All that it ever writes, and takes back; the installation's policies are in force."""
        plain, prepared = site.pod(node=THIRD_NODE), site.pod(PREPARE, node=THIRD_NODE)
        async with shutdown_agent(site, tmp_path) as logind:
            await eventually(lambda: logind.held() == [True])
            logind.power_off()
            await eventually(lambda: _marks(site) == (True, {GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS}))
            await eventually(lambda: not site.there(plain))
            request = await eventually(lambda: site.requested(prepared))
            assert [one["name"] for one in request["spec"]["requesters"]] == [
                f"{THIRD_NODE}.shutdown.vacate.dev"
            ]
            logind.cancel()
            await eventually(lambda: _marks(site) == (False, {GRACEFUL_SHUTDOWN}))
        done = [one for one in calls(site.cluster.audit_log) if one.user == site.agent.user]
        names = {THIRD_NODE, *(one["metadata"][key] for one in (plain, prepared) for key in ("name", "uid"))}
        wrote = [one for one in done if one.name in names and one.verb in ("create", "patch", "delete")]
        assert not {one.code for one in wrote} & {403, 422}
        written = {one.resource for one in wrote if one.code < 300}
        assert {"nodes", "nodes/status", "pods", "pods/status", "evictionrequests"} <= written
