"""What the shutdown agent may write of lifecycle.k8s.io, on a real API server that serves it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hack.kubelab.control_plane import running
from hack.kubelab.obtain import ASSETS

from support.arms import objects as make
from support.arms.arm import ANONYMOUS, MERGE_PATCH, Answer, Obj
from support.arms.kube import KubeArm
from support.realcluster.definitions import until
from vacate.api.installednames import SHUTDOWN_AGENT
from vacate.api.kinds import LIFECYCLE_REQUESTS, NODES, PODS
from vacate.install.manifests.confinement import agent_confinement, confinement
from vacate.install.manifests.shutdownagent import shutdown_agent
from vacate.install.objectkinds import path_of
from vacate.install.settings import Settings, ShutdownAgent

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("labs"),
    pytest.mark.asyncio(loop_scope="module"),
]

OWN, OTHER = "own-0.example.com", "other-0"
REQUESTER = "example.com.shutdown.vacate.dev/own-0"
SETTINGS = Settings(namespace="default", shutdown_agent=ShutdownAgent(namespace="default"))
POLICIES = [*confinement(SETTINGS), *agent_confinement(SETTINGS)]
RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
COLLECTION = LIFECYCLE_REQUESTS.collection_path("default")


class Agent:
    """The agent of one node, by its own token, and an administrator beside it."""

    def __init__(self, arm: KubeArm, token: str, pods: dict[str, str]) -> None:
        self.arm = arm
        self.pods = pods  # their UIDs
        self._token = token

    async def call(self, method: str, path: str, **more: Any) -> Answer:
        token = {"Authorization": f"Bearer {self._token}"}
        return await self.arm.call(method, path, as_user=ANONYMOUS, headers=token, **more)

    async def change(self, name: str, change: Obj) -> Answer:
        path = LIFECYCLE_REQUESTS.object_path(name, "default")
        return await self.call("PATCH", path, body=change, content_type=MERGE_PATCH)

    def wanted(self, name: str, pod: str = "own", requester: str = REQUESTER) -> Obj:
        target = {"pod": {"name": pod, "uid": self.pods[pod]}}
        return {
            "apiVersion": LIFECYCLE_REQUESTS.api_version,
            "kind": LIFECYCLE_REQUESTS.kind,
            "metadata": {"name": name},
            "spec": {"target": target, "requester": requester, "intent": "Eviction"},
        }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Agent]:
    """The policies in force, and a pod on each of two nodes."""
    folder = tmp_path_factory.mktemp("plane")
    with running(Path(os.environ[ASSETS]), folder, controllers=False, lifecycle=True) as plane:
        arm = KubeArm(plane.kubeconfig)
        try:
            for name in (OWN, OTHER):
                node = {"metadata": {"name": name}}
                (await arm.call("POST", NODES.collection_path(), body=node)).ok(201)
            pods = {}
            for name, node_name in (("own", OWN), ("other", OTHER)):
                made = await arm.call(
                    "POST", PODS.collection_path("default"), body=make.pod(name, node=node_name)
                )
                pods[name] = made.ok(201)["metadata"]["uid"]
            rights = [one for one in shutdown_agent(SETTINGS) if one["kind"] in RIGHTS]
            for obj in [*rights, *POLICIES]:
                (await arm.call("POST", path_of(obj, collection=True), body=obj)).ok(201)
            bound = {"apiVersion": "v1", "kind": "Node", "name": OWN}
            path = f"/api/v1/namespaces/default/serviceaccounts/{SHUTDOWN_AGENT}/token"
            made = await arm.call("POST", path, body={"spec": {"boundObjectRef": bound}})
            found = Agent(arm, made.ok(201)["status"]["token"], pods)
            foreign = found.wanted("foreign", requester="acme.io/drain")

            async def in_force() -> bool:
                probe = await found.call("POST", COLLECTION, body=foreign, query={"dryRun": "All"})
                return "ValidatingAdmissionPolicy" in (probe.message or "")

            await until(in_force)
            (await arm.call("POST", COLLECTION, body=foreign)).ok(201)
            yield found
        finally:
            await arm.aclose()


async def test_it_requests_and_withdraws_in_its_own_name(agent: Agent) -> None:
    made = (await agent.call("POST", COLLECTION, body=agent.wanted("mine"))).ok(201)
    marked = {"metadata": {"annotations": {"vacate.dev/shutdown-deadline": "2026-01-01T00:00:00Z"}}}
    (await agent.change("mine", marked)).ok()
    (await agent.change("mine", {"spec": {"intent": "Withdrawn"}})).ok()
    (await agent.change("mine", {"metadata": {"labels": {"vacate.dev/x": "y"}}})).refused(403, "Forbidden")
    (await agent.call("DELETE", LIFECYCLE_REQUESTS.object_path("mine", "default"))).ok()
    assert made["spec"]["requester"] == REQUESTER


@pytest.mark.parametrize(
    ("pod", "requester"),
    [
        ("own", "acme.io/drain"),
        ("own", "shutdown.vacate.dev/other-0"),
        ("own", "shutdown.vacate.dev/own-0"),
        ("other", REQUESTER),
    ],
    ids=["another requester", "another node", "a node of its first label", "a pod of another node"],
)
async def test_it_requests_nothing_else(agent: Agent, pod: str, requester: str) -> None:
    refused = await agent.call("POST", COLLECTION, body=agent.wanted("x", pod, requester))
    refused.refused(403, "Forbidden")
    assert "ValidatingAdmissionPolicy 'vacate-" in (refused.message or "")


async def test_it_changes_nothing_of_others(agent: Agent) -> None:
    (await agent.change("foreign", {"spec": {"intent": "Withdrawn"}})).refused(403, "Forbidden")
    removed = await agent.call("DELETE", LIFECYCLE_REQUESTS.object_path("foreign", "default"))
    removed.refused(403, "Forbidden")


async def test_the_server_finds_nothing_to_warn_of_in_the_policies(agent: Agent) -> None:
    """Those of all accounts: here all that they are about is served."""
    for policy in POLICIES[::2]:
        kept = (await agent.arm.call("GET", path_of(policy))).ok()
        assert not kept.get("status", {}).get("typeChecking", {}).get("expressionWarnings"), kept["status"]
