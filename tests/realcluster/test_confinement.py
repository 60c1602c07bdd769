"""What each account of Vacate may write, and nothing else: with its own rights and its own token."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from support.arms import objects as make
from support.arms.arm import ANONYMOUS, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Answer, As, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.realcluster.crd_steps import complete
from support.realcluster.definitions import installed, until
from vacate.api.installednames import MANAGER, NODE_FENCER, NODE_USERS, SHUTDOWN_AGENT, WEBHOOK
from vacate.api.kinds import (
    DEPLOYMENTS,
    EVACUATIONS,
    EVENTS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
    NODES,
    PERSISTENTVOLUMES,
    PODS,
    REPLICASETS,
    Kind,
)
from vacate.crds.definition import definition_for
from vacate.eviction.callers import CALLERS
from vacate.eviction.callers import SUFFIX as BRIDGE
from vacate.install.manifests.confinement import WRITES, agent_confinement, confinement
from vacate.install.manifests.roles import roles
from vacate.install.manifests.shutdownagent import shutdown_agent
from vacate.install.objectkinds import path_of
from vacate.install.settings import Settings, ShutdownAgent
from vacate.nodeagent.shutdown.requests import REQUESTER_SUFFIX

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("labs"),
    pytest.mark.asyncio(loop_scope="module"),
]

OWN, OTHER = "confined-0", "confined-1"
SETTINGS = Settings(
    namespace="default",  # which is there without a controller that makes it
    eviction_bridge=True,
    termination_reasons=True,
    shutdown_agent=ShutdownAgent(namespace="default"),
)
APPLY = "application/apply-patch+yaml"
GATE = "vacate.dev/exclusive-volumes"
REASON = "vacate.dev/termination-reason"
REGISTERED = "interceptor.evictionrequest.coordination.k8s.io/priority_deployment.apps.k8s.io"
APPROVED, REQUESTED = "vacate.dev/fencing-approved", "vacate.dev/fence-requested"


def marks(**values: str | None) -> Obj:
    """Annotations by their names below vacate.dev."""
    return {
        "metadata": {
            "annotations": {f"vacate.dev/{key.replace('_', '-')}": value for key, value in values.items()}
        }
    }


def spec(**fields: Any) -> Obj:
    return {"spec": fields}


def conditions(*types: str, **more: Any) -> Obj:
    return {"status": {"conditions": [{"type": one, "status": "True", **more} for one in types]}}


PRIVILEGED = {
    "template": {
        "spec": {"containers": [{"name": "c", "image": "x", "securityContext": {"privileged": True}}]}
    }
}


@dataclass(frozen=True)
class Row:
    """One write of an account."""

    account: str
    kind: Kind
    name: str
    change: Any
    subresource: str = ""
    how: str = STRATEGIC_PATCH
    version: str = ""  # another one of the API
    title: str = ""

    def __str__(self) -> str:
        of = self.account.removeprefix("vacate-")
        what = self.title or str(self.change)[:60].replace("::", ":")
        return f"{of} {self.kind.plural}{'/' + self.subresource if self.subresource else ''} {what}"


def write(account: str, kind: Kind, name: str, *changes: Any, **more: Any) -> list[Row]:
    return [Row(account, kind, name, change, **more) for change in changes]


FOREIGN = (
    {"metadata": {"labels": {"app": "other"}}},
    {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}},
    {"metadata": {"finalizers": ["example.com/mine"]}},
    {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]}},
    marks(move_before_eviction="true"),
)
"""What no account changes, of whatever kind."""

TAINTS = [{"key": "example.com/mine", "effect": "NoSchedule"}]
REFUSED: Sequence[Row] = (
    *write(
        MANAGER,
        DEPLOYMENTS,
        "web",
        *FOREIGN,
        spec(**PRIVILEGED),
        spec(replicas=2, **PRIVILEGED),
        spec(paused=True),
        spec(minReadySeconds=9),
        spec(template={"metadata": {"annotations": {"a": "b"}}}),
    ),
    *write(
        MANAGER,
        DEPLOYMENTS,
        "web",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "evil"}]}}},
        },
        how=APPLY,
        title="apply",
    ),
    *write(
        MANAGER, DEPLOYMENTS, "web", [{"op": "add", "path": "/spec/paused", "value": True}], how=JSON_PATCH
    ),
    *write(MANAGER, REPLICASETS, "web", *FOREIGN, spec(replicas=5), marks(surge="mine")),
    *write(
        MANAGER,
        HORIZONTALPODAUTOSCALERS,
        "web",
        *FOREIGN,
        spec(maxReplicas=99),
        spec(scaleTargetRef={"name": "other"}),
        marks(replicas_to_evict="1"),
    ),
    *write(
        MANAGER, HORIZONTALPODAUTOSCALERS, "web", spec(maxReplicas=98), version="v1", title="of version v1"
    ),
    *write(
        MANAGER,
        PODS,
        "own",
        *FOREIGN,
        spec(activeDeadlineSeconds=1),
        spec(containers=[{"name": "c", "image": "evil"}]),
    ),
    *write(MANAGER, PODS, "gated", spec(schedulingGates=[{"name": "example.com/mine", "$patch": "delete"}])),
    *write(
        MANAGER,
        NODES,
        OWN,
        *FOREIGN,
        spec(taints=TAINTS),
        spec(providerID="x://y"),
        spec(podCIDR="10.0.0.0/24"),
        {"metadata": {"annotations": {APPROVED: "now"}}},
        {"metadata": {"annotations": {REQUESTED: "now"}}},
    ),
    *write(
        MANAGER,
        NODES,
        OWN,
        *FOREIGN,
        conditions("Ready"),
        {"status": {"capacity": {"cpu": "99"}}},
        {"status": {"addresses": [{"type": "InternalIP", "address": "10.9.9.9"}]}},
        marks(fencing_begun="me"),
        subresource="status",
    ),
    *write(
        MANAGER,
        PERSISTENTVOLUMES,
        "vol",
        *FOREIGN,
        spec(persistentVolumeReclaimPolicy="Delete"),
        marks(exclusive="true"),
    ),
    *write(MANAGER, NODEMAINTENANCES, "upkeep", *FOREIGN[2:], spec(nodes=["n2"]), how=MERGE_PATCH),
    *write(
        WEBHOOK,
        PODS,
        "own",
        *FOREIGN,
        spec(activeDeadlineSeconds=1),
        {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-9"}}},
    ),
    *write(
        WEBHOOK,
        EVICTIONREQUESTS,
        "going",
        spec(requesters=[{"name": "x.example.com"}]),
        *FOREIGN[2:],
        how=MERGE_PATCH,
    ),
    *write(
        SHUTDOWN_AGENT,
        NODES,
        OWN,
        *FOREIGN,
        spec(unschedulable=True),
        spec(taints=TAINTS),
        spec(podCIDR="10.0.0.0/24"),
        {"metadata": {"labels": {"new": "one"}}},
    ),
    *write(
        MANAGER,
        PODS,
        "own",
        *FOREIGN[:3],
        *FOREIGN[4:],
        {"status": {"phase": "Succeeded"}},
        conditions("Ready"),
        conditions("DisruptionTarget"),
        subresource="status",
    ),
    *write(
        SHUTDOWN_AGENT, NODES, OTHER, spec(taints=[{"key": "vacate.dev/shutdown", "effect": "NoSchedule"}])
    ),
    *write(
        SHUTDOWN_AGENT,
        NODES,
        OWN,
        *FOREIGN,
        conditions("Ready"),
        {"status": {"capacity": {"cpu": "99"}}},
        {"status": {"addresses": [{"type": "InternalIP", "address": "10.9.9.9"}]}},
        subresource="status",
    ),
    *write(SHUTDOWN_AGENT, NODES, OTHER, conditions("vacate.dev/GracefulShutdown"), subresource="status"),
    *write(
        SHUTDOWN_AGENT,
        PODS,
        "own",
        *FOREIGN[:3],
        *FOREIGN[4:],
        {"metadata": {"labels": {"new": "one"}}},
        {"status": {"phase": "Succeeded"}},
        conditions("Ready"),
        subresource="status",
    ),
    *write(SHUTDOWN_AGENT, PODS, "other", conditions("DisruptionTarget"), subresource="status"),
)

ALLOWED: Sequence[Row] = (
    *write(
        MANAGER,
        DEPLOYMENTS,
        "web",
        {**marks(surge="{}", replicas_to_evict="1"), **spec(replicas=2)},
        marks(surge=None, replicas_to_evict=None),
    ),
    *write(MANAGER, REPLICASETS, "web", marks(surge=None)),
    *write(
        MANAGER,
        HORIZONTALPODAUTOSCALERS,
        "web",
        {**marks(surge="{}"), **spec(minReplicas=2)},
        marks(surge=None),
    ),
    *write(
        MANAGER,
        PODS,
        "own",
        marks(deletion_cost="1", registered="x", termination_reason="x"),
        {
            "metadata": {
                "annotations": {
                    "controller.kubernetes.io/pod-deletion-cost": "-9",
                    REGISTERED: "10000/controller",
                }
            }
        },
    ),
    *write(MANAGER, PODS, "gated", spec(schedulingGates=[{"name": "example.com/mine"}]), how=MERGE_PATCH),
    *write(MANAGER, PODS, "own", conditions("vacate.dev/EvictionSuperseded"), subresource="status"),
    *write(MANAGER, PODS, "own", conditions("vacate.dev/EvacuationSuperseded"), subresource="status"),
    *write(
        MANAGER,
        NODES,
        OWN,
        {**marks(nodemaintenances="{}", fencing_begun="me"), **spec(unschedulable=True)},
        {
            **marks(fencing_approved=None, fence_requested=None, fenced="me"),
            "spec": {
                "taints": [
                    {"key": "node.kubernetes.io/out-of-service", "value": "fenced", "effect": "NoExecute"},
                    {"key": "vacate.dev/nodemaintenance", "effect": "NoSchedule"},
                ]
            },
        },
        spec(taints=[]),
    ),
    *write(MANAGER, NODES, OWN, conditions("Draining", "Drained", "Blocked"), subresource="status"),
    *write(MANAGER, PERSISTENTVOLUMES, "vol", marks(attachment="{}", detached="[]"), marks(attachment=None)),
    *write(
        MANAGER,
        NODEMAINTENANCES,
        "upkeep",
        {"metadata": {"finalizers": ["vacate.dev/nodemaintenance"]}},
        {"metadata": {"finalizers": []}},
        how=MERGE_PATCH,
    ),
    *write(WEBHOOK, PODS, "own", marks(termination_reason="Eviction", termination_reason_source="x")),
    *write(
        WEBHOOK,
        EVICTIONREQUESTS,
        "going",
        {
            "metadata": {"annotations": {CALLERS: "{}"}},
            "spec": {"requesters": [{"name": "drain.example.com"}, {"name": f"a.{BRIDGE}"}]},
        },
        # Admission gives it the labels that its pod has by then.
        {"metadata": {"labels": {"app": "other", "app.kubernetes.io/name": "db"}}},
        how=MERGE_PATCH,
    ),
    *write(
        SHUTDOWN_AGENT,
        NODES,
        OWN,
        spec(taints=[{"key": "vacate.dev/shutdown", "effect": "NoSchedule"}]),
        spec(taints=[]),
    ),
    *write(
        SHUTDOWN_AGENT,
        NODES,
        OWN,
        conditions("vacate.dev/GracefulShutdown", "GracefulNodeShutdownInProgress"),
        subresource="status",
    ),
    *write(SHUTDOWN_AGENT, PODS, "own", conditions("DisruptionTarget"), subresource="status"),
)
"""In order: later ones take back what earlier ones did."""


class Accounts:
    """The server, and the tokens of the accounts."""

    def __init__(self, arm: KubeArm) -> None:
        self.arm = arm
        self.tokens: dict[str, str] = {}
        self.names: dict[str, str] = {}  # those of requests, which are UIDs

    async def sign_in(self, account: str, **bound: str) -> None:
        path = f"/api/v1/namespaces/default/serviceaccounts/{account}/token"
        wanted: Obj = {"expirationSeconds": 3600}
        if bound:
            wanted["boundObjectRef"] = bound
        made = await self.arm.call("POST", path, body={"spec": wanted})
        self.tokens[account] = made.ok(201)["status"]["token"]

    async def call(self, account: str, method: str, path: str, **more: Any) -> Answer:
        """As the account itself."""
        token = {"Authorization": f"Bearer {self.tokens[account]}"}
        return await self.arm.call(method, path, as_user=ANONYMOUS, headers=token, **more)

    async def send(self, row: Row, *, dry_run: bool = False) -> Answer:
        namespace = "default" if row.kind.namespaced else ""
        path = row.kind.object_path(self.names.get(row.name, row.name), namespace, row.subresource)
        if row.version:
            path = path.replace(f"/{row.kind.version}/", f"/{row.version}/")
        query = {"dryRun": "All"} if dry_run else {}
        if row.how == APPLY:
            query |= {"fieldManager": "x", "force": "true"}
        return await self.call(row.account, "PATCH", path, body=row.change, content_type=row.how, query=query)

    async def delete(self, account: str, kind: Kind, name: str = "", **query: str) -> Answer:
        path = kind.object_path(name, "default") if name else kind.collection_path("default")
        return await self.call(account, "DELETE", path, query=query)


def rights() -> list[Obj]:
    """Accounts and roles as they are installed, without the certificates' and the namespaces."""
    wanted = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    names = (MANAGER, WEBHOOK, SHUTDOWN_AGENT, NODE_FENCER)
    made = [*roles(SETTINGS), *shutdown_agent(SETTINGS)]
    return [one for one in made if one["kind"] in wanted and one["metadata"]["name"] in names]


def existing() -> list[tuple[Kind, Obj]]:
    """What the rows write to; all of it has a label that is its own."""
    gates = [{"name": GATE}, {"name": "example.com/mine"}]
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    workload, copied = make.workload("web"), make.workload("web")
    copied["metadata"] |= marks(surge="copied")["metadata"]
    made: list[tuple[Kind, Obj]] = [
        (NODES, {"metadata": {"name": OWN, "annotations": {APPROVED: "x", REQUESTED: "x"}}}),
        (NODES, {"metadata": {"name": OTHER}}),
        (DEPLOYMENTS, workload),
        (REPLICASETS, copied),
        (HORIZONTALPODAUTOSCALERS, make.autoscaler("web")),
        (PODS, make.pod("own", node=OWN)),
        (PODS, make.pod("other", node=OTHER)),
        (PODS, make.pod("gated", schedulingGates=gates)),
        (PERSISTENTVOLUMES, {"metadata": {"name": "vol"}, "spec": volume}),
        (NODEMAINTENANCES, {"metadata": {"name": "upkeep"}, "spec": {"nodes": ["n1"]}}),
    ]
    for kind, obj in made:
        obj |= {"apiVersion": kind.api_version, "kind": kind.kind}
        obj["metadata"]["labels"] = {**obj["metadata"].get("labels", {}), "app": "web"}
    return made


def request_for(pod: Obj, *requesters: str) -> Obj:
    meta = pod["metadata"]
    return {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        "metadata": {"name": meta["uid"], "labels": {"app": "web"}},
        "spec": {
            "target": {"podRef": {"name": meta["name"], "uid": meta["uid"]}},
            "requesters": [{"name": one} for one in requesters],
        },
    }


def more_rights() -> list[Obj]:
    """To delete collections: the roles of an installation do not have it, and the policies hold it too."""
    api = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    role = make.role("collections", make.rule("deletecollection", "pods"))
    users = [f"system:serviceaccount:default:{one}" for one in (WEBHOOK, SHUTDOWN_AGENT)]
    bound = make.binding("collections", "ClusterRole", "collections", *users)
    patching = make.role("patching", make.rule("patch", "nodes nodes/status"), make.rule("create", "nodes"))
    by = make.binding("patching", "ClusterRole", "patching", PATCHER.name)
    fencing = make.binding("fencing", "ClusterRole", NODE_FENCER, FENCER.name)
    made = [("Role", role), ("RoleBinding", bound), ("Role", patching), ("RoleBinding", by)]
    return [{**api, "kind": f"Cluster{kind}", **one} for kind, one in [*made, ("RoleBinding", fencing)]]


PATCHER, FENCER = As("patches-nodes"), As("fences-nodes")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def accounts() -> AsyncIterator[Accounts]:
    """A real server with the accounts, their roles and all policies about them in force."""
    arm = KubeArm(Path(os.environ[KUBECONFIG]))
    found = Accounts(arm)
    policies = [*confinement(SETTINGS), *agent_confinement(SETTINGS)]
    made: list[str] = []
    try:
        async with (
            installed(arm, definition_for(EVICTIONREQUESTS)),
            installed(arm, definition_for(NODEMAINTENANCES), [*rights(), *more_rights()]),
        ):
            pods = {}
            for kind, obj in existing():
                answer = await arm.call(
                    "POST", kind.collection_path("default" if kind.namespaced else ""), body=obj
                )
                pods[obj["metadata"]["name"]] = answer.ok(201)
                made.append(kind.object_path(obj["metadata"]["name"], "default" if kind.namespaced else ""))
            try:
                for name in (OWN, OTHER):  # which the server has tainted as not ready
                    untainted = {"spec": {"taints": None}}
                    path = NODES.object_path(name, "")
                    (await arm.call("PATCH", path, body=untainted, content_type=MERGE_PATCH)).ok()
                for obj in policies:
                    (await arm.call("POST", path_of(obj, collection=True), body=obj)).ok(201)
                    made.insert(0, path_of(obj))
                for account in (MANAGER, WEBHOOK):
                    await found.sign_in(account)
                await found.sign_in(SHUTDOWN_AGENT, apiVersion="v1", kind="Node", name=OWN)
                collection = EVICTIONREQUESTS.collection_path("default")
                for name, pod in (("going", "other"), ("over", "gated")):
                    body = request_for(pods[pod], "drain.example.com")
                    (await arm.call("POST", collection, body=body)).ok(201)
                    found.names[name] = pods[pod]["metadata"]["uid"]
                over = EVICTIONREQUESTS.object_path(found.names["over"], "default", "status")
                (await arm.call("PATCH", over, body=complete(), content_type=MERGE_PATCH)).ok()
                probes = {(row.account, row.kind, row.subresource): row for row in REFUSED}

                async def in_force() -> bool:
                    return all([(await found.send(row, dry_run=True)).failed for row in probes.values()])

                await until(in_force)
                yield found
            finally:
                for path in made:
                    await arm.call("DELETE", path, query={"gracePeriodSeconds": "0"})
    finally:
        await arm.aclose()


@pytest.mark.parametrize("row", REFUSED, ids=str)
async def test_an_account_may_not(accounts: Accounts, row: Row) -> None:
    for dry_run in (True, False):
        answer = await accounts.send(row, dry_run=dry_run)
        answer.refused(403, "Forbidden")
        assert "ValidatingAdmissionPolicy 'vacate-" in (answer.message or ""), answer


@pytest.mark.parametrize("row", ALLOWED, ids=str)
async def test_an_account_may(accounts: Accounts, row: Row) -> None:
    (await accounts.send(row)).ok()


async def test_each_confined_write_has_rows() -> None:
    """A row of the table of writes that no test tries would be a policy that nobody has seen refuse."""
    tried = [{(row.account, row.kind, row.subresource) for row in rows} for rows in (REFUSED, ALLOWED)]
    wanted = {(one.account, one.kind, one.subresource) for one in WRITES}
    untried = {one for one in wanted if any(one not in rows for rows in tried)}
    # Which others try with requests that are admitted and go on.
    nodes = itertools.product((SHUTDOWN_AGENT, NODE_USERS), (EVICTIONREQUESTS, EVACUATIONS))
    elsewhere = {*nodes, (WEBHOOK, EVACUATIONS), (MANAGER, EVICTIONREQUESTS), (MANAGER, EVACUATIONS)}
    # adversary/test_lifecycle_requests.py, where that is served, and adversary/test_events.py
    elsewhere |= {(one.account, one.kind) for one in WRITES if one.kind in (LIFECYCLE_REQUESTS, EVENTS)}
    assert untried == {(account, kind, "") for account, kind in elsewhere}


async def test_the_server_finds_nothing_to_warn_of_in_the_policies(accounts: Accounts) -> None:
    for policy in [*confinement(SETTINGS), *agent_confinement(SETTINGS)][::2]:
        kept = (await accounts.arm.call("GET", path_of(policy))).ok()
        assert not kept.get("status", {}).get("typeChecking", {}).get("expressionWarnings"), kept["status"]


async def test_the_webhook_cannot_use_its_right_to_delete_pods(accounts: Accounts) -> None:
    for answer in (
        await accounts.delete(WEBHOOK, PODS, "own"),
        await accounts.delete(WEBHOOK, PODS, "own", dryRun="All"),
        await accounts.delete(WEBHOOK, PODS),
    ):
        answer.refused(403, "Forbidden")
        assert "deletes no pods" in (answer.message or "")
    review = {"spec": {"resourceAttributes": {"verb": "delete", "resource": "pods", "namespace": "default"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    asked = await accounts.call(WEBHOOK, "POST", path, body=review)
    assert asked.ok(201)["status"]["allowed"] is True  # which admission asks for


async def test_the_webhook_requests_evictions_for_callers_only(accounts: Accounts) -> None:
    collection = EVICTIONREQUESTS.collection_path("default")
    pod = (await accounts.arm.call("GET", PODS.object_path("own", "default"))).ok()
    for names, code in (
        (("drain.example.com",), 403),
        ((f"a.{BRIDGE}", "drain.example.com"), 403),
        ((f"a.{BRIDGE}",), 201),
    ):
        made = await accounts.call(
            WEBHOOK, "POST", collection, body=request_for(pod, *names), query={"dryRun": "All"}
        )
        assert made.code == code, made
    refused = await accounts.delete(WEBHOOK, EVICTIONREQUESTS, accounts.names["going"])
    assert "that are complete" in (refused.message or ""), refused
    (await accounts.delete(WEBHOOK, EVICTIONREQUESTS, accounts.names["over"], dryRun="All")).ok()


async def test_an_agent_deletes_pods_of_its_own_node_only(accounts: Accounts) -> None:
    (await accounts.delete(SHUTDOWN_AGENT, PODS, "own", dryRun="All")).ok()
    for answer in (
        await accounts.delete(SHUTDOWN_AGENT, PODS, "other"),
        await accounts.delete(SHUTDOWN_AGENT, PODS),
    ):
        answer.refused(403, "Forbidden")
        assert "of its own node only" in (answer.message or "")


async def test_an_agent_requests_evictions_of_pods_of_its_own_node_only(accounts: Accounts) -> None:
    collection = EVICTIONREQUESTS.collection_path("default")
    own, other, mine = (
        await pod_of(accounts, "own"),
        await pod_of(accounts, "other"),
        f"{OWN}.{REQUESTER_SUFFIX}",
    )

    async def asked(pod: Obj) -> Answer:
        body, query = request_for(pod, mine), {"dryRun": "All"}
        body["metadata"]["name"] = pod["metadata"]["uid"]
        return await accounts.call(SHUTDOWN_AGENT, "POST", collection, body=body, query=query)

    (await asked(own)).ok(201)
    for name in (OWN, OTHER):
        changed = {
            "spec": {"requesters": [{"name": "drain.example.com"}, {"name": f"{name}.{REQUESTER_SUFFIX}"}]}
        }
        path = EVICTIONREQUESTS.object_path(accounts.names["going"], "default")  # for a pod of the other node
        joined = await accounts.call(SHUTDOWN_AGENT, "PATCH", path, body=changed, content_type=MERGE_PATCH)
        joined.refused(403, "Forbidden")
    refused = await asked(other)
    assert refused.code == 403, refused
    assert f"none of node {OTHER}" in (refused.message or ""), refused


async def pod_of(accounts: Accounts, name: str) -> Obj:
    return (await accounts.arm.call("GET", PODS.object_path(name, "default"))).ok()


async def test_a_token_that_names_no_node_writes_nothing(accounts: Accounts) -> None:
    bound = accounts.tokens[SHUTDOWN_AGENT]
    await accounts.sign_in(SHUTDOWN_AGENT)
    try:
        for row in (one for one in ALLOWED if one.account == SHUTDOWN_AGENT):
            assert "names no node" in ((await accounts.send(row)).message or "")
    finally:
        accounts.tokens[SHUTDOWN_AGENT] = bound


@pytest.mark.parametrize("mark", [APPROVED, REQUESTED])
async def test_who_may_change_nodes_may_not_yet_have_them_fenced(accounts: Accounts, mark: str) -> None:
    arm, node = accounts.arm, NODES.object_path(OTHER, "")
    sets, clears = ({"metadata": {"annotations": {mark: value}}} for value in ("now", None))

    async def patch(body: Obj, by: As, path: str = node) -> Answer:
        return await arm.call("PATCH", path, body=body, content_type=MERGE_PATCH, as_user=by)

    for path in (node, f"{node}/status"):
        refused = await patch(sets, PATCHER, path)
        refused.refused(403, "Forbidden")
        assert 'cannot fence resource "nodes"' in (refused.message or "")
    new = {"metadata": {"name": "confined-2", **sets["metadata"]}}
    (await arm.call("POST", NODES.collection_path(), body=new, as_user=PATCHER)).refused(403, "Forbidden")
    (await patch(sets, FENCER)).ok()
    (
        await patch({"metadata": {"labels": {"example.com/a": mark.rpartition("/")[2]}}}, PATCHER)
    ).ok()  # beside it
    (await patch(clears, PATCHER)).ok()


@pytest_asyncio.fixture(loop_scope="module")
async def mutator(accounts: Accounts) -> AsyncIterator[None]:
    """A company's own policy: every object that is written gets a label, nodes one with a prefix."""
    api, name = "/apis/admissionregistration.k8s.io/v1", "company-cost-centers"
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["*"]}
    label = "request.resource.resource == 'nodes' ? {'example.com/cost-center': '7'} : {'cost-center': '7'}"
    labelled = f"Object{{metadata: Object.metadata{{labels: {label}}}}}"
    policy = {
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": labelled}}
            ],
        },
    }
    kinds = {"policies": policy, "policybindings": {"metadata": {"name": name}, "spec": {"policyName": name}}}
    for kind, body in kinds.items():
        (await accounts.arm.call("POST", f"{api}/mutatingadmission{kind}", body=body)).ok(201)

    async def in_force() -> bool:
        path = DEPLOYMENTS.object_path("web", "default")
        changed = await accounts.arm.call(
            "PATCH", path, body=spec(minReadySeconds=1), content_type=MERGE_PATCH, query={"dryRun": "All"}
        )
        return "cost-center" in changed.ok()["metadata"].get("labels", {})

    try:
        await until(in_force)
        yield
    finally:
        for kind in kinds:
            await accounts.arm.call("DELETE", f"{api}/mutatingadmission{kind}/{name}")


@pytest.mark.parametrize("row", [row for row in ALLOWED if row.account == MANAGER], ids=str)
async def test_a_label_of_a_companys_own_policy_stops_nothing(
    accounts: Accounts, mutator: None, row: Row
) -> None:
    changed = (await accounts.send(row, dry_run=True)).ok()
    if not row.subresource:
        label = "example.com/cost-center" if row.kind is NODES else "cost-center"
        assert changed["metadata"]["labels"][label] == "7"
