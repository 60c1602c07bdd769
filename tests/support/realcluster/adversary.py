"""An installation on a real control plane, and everyone who may have a foothold beside it.

Each attacker is an account with a real token. A row of the suite is a test of one thing that a foothold must
not achieve. It says what it stands on: `held_by` policies, roles or reviews, which `test_removals` takes away
to see that the row fails; `held_in_code`, which `make rules` removes; or `rests_on_kubernetes`. What is
`permitted` is refused by nothing.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import ssl
import subprocess
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from support.evictions.namespace import is_ready, pod_body
from support.https import Https, Obj, Reply
from support.processes.cluster import vacate
from support.realcluster.company import ADMISSION, CompanyWebhook, company_labels
from support.realcluster.evictions import HOME, RealCluster, real_cluster
from support.realcluster.users import until_granted
from support.tlsserver import serving
from support.waiting import until
from vacate.admission.pods.forcedeletion import ENABLED, GUARD_LABEL
from vacate.api.identity import NODES as NODE_GROUP
from vacate.api.identity import node_user
from vacate.api.installednames import (
    CERTIFICATES,
    HOOKS,
    INTERCEPTOR,
    MANAGER,
    MUTATING,
    NODE_MAINTAINER,
    REQUESTER,
    SHUTDOWN_AGENT,
    SHUTDOWN_REQUESTER,
    VALIDATING,
    WEBHOOK,
)
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    EVICTIONREQUESTS,
    FENCINGPOLICIES,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    NAMESPACES,
    NODES,
    PODS,
    ROLEBINDINGS,
    SERVICEACCOUNTS,
    Kind,
)
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import OWN_DIALECTS, dialect_named
from vacate.eviction.registration import PREFIXES
from vacate.install.settings import ShutdownAgent
from vacate.kube.exclusivevolumes import OPT_IN as EXCLUSIVE_VOLUMES
from vacate.kube.exclusivevolumes import OPTED_IN

ROWS = [pytest.mark.kube, pytest.mark.xdist_group("adversary")]
"""The marks of all modules of the suite: they share one installation."""
F = TypeVar("F", bound=Callable[..., object])
TENANTS = "tenants"
"""The namespace in which all of it happens."""
OWN_NODE, OTHER_NODE = "node-1", "node-2"
"""The node of the agent whose token is used, and that of all other pods."""
PREPARE, BOUND = "prepare.example.com", "bound.example.com"
"""Two interceptors: anyone with the role may report for the first, one account for the second."""
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
AGENTS = ShutdownAgent().namespace
_INSTALLED = (
    "--image", "vacate:0", "--termination-reasons", "--guard-force-deletion", "--shutdown-agent", "alone",
    "--interceptor", f"{BOUND}={TENANTS}/bound",
)  # fmt: skip
_WEBHOOK = ("--termination-reasons", "--interceptor", f"{BOUND}={TENANTS}/bound")
_MANAGER = (
    "--guard-node-deletion",
    "--fencing-allow-address", "127.0.0.1",  # where a hostile service listens
)  # fmt: skip


ROLES, REVIEWS = "the roles", "the webhook's reviews"
"""What holds rows beside policies: the rights that an account was not given, and what the webhook answers."""


def held_by(*policies: str, alone: bool = False) -> Callable[[F], F]:
    """The admission policies, as patterns of names, ROLES or REVIEWS, without which a row fails.

    `alone` is for what the webhook holds as well: the row is tried while the webhook is not asked.
    """

    def mark(row: F) -> F:
        row.held_by, row.alone = policies, alone  # type: ignore[attr-defined]
        return row

    return mark


def held_in_code(*ids: str) -> Callable[[F], F]:
    """What `make rules` removes of the code: rules of tests/rules/rules.toml, defences of security.toml."""
    return lambda row: row


def rests_on_kubernetes(row: F) -> F:
    """Nothing of ours holds it: the API server does, with roles and budgets of its own."""
    return row


def permitted(row: F) -> F:
    """It shows what is not refused, or what an administrator is shown."""
    return row


class Account:
    """Someone at the API server; objects are those of the tenants where nothing else is named."""

    dry = ""
    """What all of them add to their patches and deletions: nothing, or that it is a dry run."""
    tried = False
    """Whether all that attackers write is a dry run."""

    def __init__(self, https: Https, user: str = "") -> None:
        self._https = https
        self.user = user

    def call(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **headers: str
    ) -> Reply:
        """One request, whatever becomes of it."""
        if Account.tried and self.user != "admin" and method != "GET" and "dryRun" not in path:
            path += f"{'&' if '?' in path else '?'}dryRun=All"
            body = {**body, "dryRun": ["All"]} if method == "DELETE" and isinstance(body, dict) else body
        return self._https.call(method, path, body, content_type=content_type, headers=headers)

    def get(self, kind: Kind, name: str, namespace: str = TENANTS) -> Reply:
        return self.call("GET", _path(kind, name, namespace))

    def create(self, kind: Kind, body: Obj, namespace: str = TENANTS, query: str = "") -> Reply:
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        return self.call("POST", _collection(kind, namespace) + query, body)

    def change(
        self,
        kind: Kind,
        name: str,
        change: Any,
        namespace: str = TENANTS,
        *,
        sub: str = "",
        how: str = MERGE,
        query: str = "",
    ) -> Reply:
        """A patch of that sort; an apply is forced, by a manager of its own."""
        path, query = _path(kind, name, namespace, sub), query or Account.dry
        if how == APPLY:
            query = "?fieldManager=attacker&force=true" + query.replace("?", "&")
            change = {"apiVersion": kind.api_version, "kind": kind.kind, **change}
            change["metadata"] = {"name": name, **change.get("metadata", {})}
        return self.call("PATCH", path + query, change, how)

    def replace(self, kind: Kind, body: Obj, namespace: str = TENANTS, *, sub: str = "") -> Reply:
        """A PUT."""
        return self.call("PUT", _path(kind, body["metadata"]["name"], namespace, sub), body)

    def delete(self, kind: Kind, name: str, namespace: str = TENANTS, **options: Any) -> Reply:
        if Account.dry:
            options["dryRun"] = ["All"]  # where there is a body, the server does not look at the query
        return self.call("DELETE", _path(kind, name, namespace), options or None)

    def evict(self, pod: str, namespace: str = TENANTS, **more: Any) -> Reply:
        """As kubectl drain does."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}, **more}
        return self.call("POST", _path(PODS, pod, namespace, "eviction") + Account.dry, body)

    def request(self, pod: Obj, requester: str = "tenant.example.com", **more: Any) -> Reply:
        """Request the eviction of a pod; `more` is metadata beside the name."""
        return self.create(
            EVICTIONREQUESTS, request_for(pod, requester, **more), pod["metadata"]["namespace"]
        )


class NodeIdentity(Account):
    """A node, in whose name an administrator acts."""

    def call(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **headers: str
    ) -> Reply:
        own = {"Impersonate-User": self.user, "Impersonate-Group": NODE_GROUP}
        return super().call(method, path, body, content_type, **{**own, **headers})


def request_for(pod: Obj, requester: str = "tenant.example.com", **metadata: Any) -> Obj:
    """An EvictionRequest for this pod."""
    of = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    spec = {"target": {"podRef": of}, "requesters": [{"name": requester}]}
    return {"metadata": {"name": of["uid"], **metadata}, "spec": spec}


def new_request(pod: Obj, dialect: Dialect, requester: str = "tenant.example.com") -> Obj:
    """A request for this pod, in one of the APIs."""
    return dialect.new_request(codec_for(Pod).convert(pod), requester, "", None)


def lifecycle_request(pod: Obj, requester: str, **metadata: Any) -> Obj:
    """An EvictionRequest of Kubernetes' own API for this pod."""
    target = {"pod": {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}}
    spec = {"target": target, "requester": requester, "intent": "Eviction"}
    return {"metadata": {"generateName": "request-", **metadata}, "spec": spec}


def _collection(kind: Kind, namespace: str) -> str:
    return kind.collection_path(namespace if kind.namespaced else None)


def _path(kind: Kind, name: str, namespace: str, sub: str = "") -> str:
    return kind.object_path(name, namespace if kind.namespaced else None, sub)


def refused(reply: Reply, *parts: str, codes: tuple[int, ...] = (403, 422)) -> str:
    """The text of an answer that had to be a refusal and says these things."""
    assert reply.code in codes, f"not refused, {reply.code}: {reply.text[:400]}"
    for part in parts:
        assert part in reply.text, f"{part!r} not in: {reply.text[:400]}"
    return reply.text


class Site:
    """The installation, and the tokens of those who attack it."""

    def __init__(self, cluster: RealCluster, company: CompanyWebhook) -> None:
        self.cluster = cluster
        self.company = company
        self.admin = Account(cluster.admin, "admin")
        self._pods = 0
        self._given: set[str] = set()
        self._prepared: dict[tuple[str, str], Obj] = {}
        guarded = {GUARD_LABEL: ENABLED, EXCLUSIVE_VOLUMES: OPTED_IN}
        self.admin.create(NAMESPACES, {"metadata": {"name": TENANTS, "labels": guarded}}).ok()
        self.tenant = self._user("tenant", "edit")
        self.requester = self._user("requester", REQUESTER)  # who may not delete pods
        self.other_tenant = self._user("other", "edit")
        self.interceptor = self._user("interceptor", INTERCEPTOR)
        self.bound = self._user("bound", INTERCEPTOR)
        everything = ["get", "list", "create", "update", "patch", "delete"]
        self.fencer = self._user("fencer", rules=[(FENCINGPOLICIES, everything)])
        self.responder = self._user("responder", rules=[(LIFECYCLE_EVICTIONS, ["patch"])], sub="status")
        self.node_editor = self._user("node-editor", rules=[(NODES, ["get", "patch", "delete"])])
        self.maintainer = self._user("maintainer", NODE_MAINTAINER, cluster=True)
        self.manager = self._account(HOME, MANAGER)
        self.webhook = self._account(HOME, WEBHOOK)
        self.certificates = self._account(HOME, CERTIFICATES)
        self.hooks = self._account(HOME, HOOKS)
        self.agent = self._account(AGENTS, SHUTDOWN_AGENT, self.agent_pod(OWN_NODE))
        self.agent_without_node = self._account(AGENTS, SHUTDOWN_AGENT)
        self.node = self._node(OWN_NODE)
        beside = {"validatingwebhookconfigurations": company.configuration(TENANTS), **company_labels()}
        for plural, one in beside.items():
            cluster.admin.create(f"/apis/{ADMISSION}/v1/{plural}", one)

    def pod(self, *interceptors: str, node: str = OTHER_NODE, **more: Any) -> Obj:
        """A ready pod of the tenants, on that node, with a name of its own."""
        self._pods += 1
        name = f"pod-{self._pods}"
        self.admin.create(PODS, pod_body(name, *interceptors, nodeName=node, **more)).ok()

        def ready() -> Obj | None:
            found = self.admin.get(PODS, name).ok()
            return found if is_ready(found) else None

        found = until(ready)
        assert found is not None
        return found

    @functools.cached_property
    def shared(self) -> Obj:
        """A pod for rows that leave it as it is."""
        return self.pod()

    @functools.cached_property
    def own(self) -> Obj:
        """Such a pod on the agent's node."""
        return self.pod(node=OWN_NODE)

    @functools.cached_property
    def own_requests(self) -> dict[str, Obj]:
        """A request for a pod of the agent's node in each API, by kind, for rows that leave it as it is."""
        return {
            dialect.kind.kind: self.admin.create(dialect.kind, new_request(pod, dialect)).ok()
            for dialect in OWN_DIALECTS
            for pod in (self.pod(PREPARE, node=OWN_NODE, prefix=PREFIXES[dialect is EVACUATION]),)
        }

    def lifecycle_request(self, requester: str) -> str:
        """The name of a request in Kubernetes' own API for a pod of the agent's node; one for all rows."""
        name = requester.replace("/", ".")
        return self.given(LIFECYCLE_REQUESTS, lifecycle_request(self.own, requester, name=name), TENANTS)

    def given(self, kind: Kind, body: Obj, namespace: str) -> str:
        """The name of an object that all rows share; it is made when the first one needs it."""
        name: str = body["metadata"]["name"]
        if (path := _path(kind, name, namespace)) not in self._given:
            self.admin.create(kind, body, namespace).ok()
            self._given.add(path)
        return name

    def lost_node(self, name: str, **pod: Any) -> str:
        """A Node that has stopped to report, with one pod of this metadata, or none; one for all rows."""
        if name not in self._given:
            self.admin.create(NODES, {"metadata": {"name": name}}).ok()
            lost = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            status = {"status": {"conditions": [lost]}}
            if pod:  # before: a pod that is not there when the node is lost is none
                body = pod_body(f"on-{name}", nodeName=name)
                self.admin.create(PODS, {**body, "metadata": {**body["metadata"], **pod}}).ok()
            self.admin.call("PATCH", NODES.object_path(name, None, "status"), status, MERGE).ok()
            self._given.add(name)
        return name

    def there(self, pod: Obj) -> bool:
        """Whether this very pod runs on, and has not been asked to end."""
        reply = self.admin.get(PODS, pod["metadata"]["name"])
        if reply.code == 404:
            return False
        found = reply.ok()["metadata"]
        return found["uid"] == pod["metadata"]["uid"] and "deletionTimestamp" not in found

    def requested(self, pod: Obj) -> Obj | None:
        """The EvictionRequest about this pod, if there is one."""
        reply = self.admin.get(EVICTIONREQUESTS, pod["metadata"]["uid"])
        return None if reply.code == 404 else reply.ok()

    def now(self, request: Obj) -> Obj:
        """A request as it is now."""
        kind = dialect_named(request["kind"].lower()).kind
        return self.admin.get(kind, request["metadata"]["name"]).ok()

    def active(self, interceptor: str, dialect: Dialect = EVICTION_REQUEST) -> Obj:
        """A request in which this interceptor has the turn."""
        if found := self._prepared.get((interceptor, dialect.kind.kind)):
            return found
        pod = self.pod(interceptor, prefix=PREFIXES[dialect is EVACUATION])
        made = self.admin.create(dialect.kind, new_request(pod, dialect)).ok()
        (field,) = dialect.status_patch({"status": {"activeInterceptorName": None}})["status"]

        def turn() -> Obj | None:
            found = self.now(made)
            return found if found.get("status", {}).get(field) == interceptor else None

        found = until(turn)
        assert found is not None
        return found

    @contextlib.contextmanager
    def without_webhook(self) -> Iterator[None]:
        """Vacate's webhook is not asked: policies alone hold what they hold. Requests were made before."""
        self._prepared = {
            (name, dialect.kind.kind): self.active(name, dialect)
            for dialect in OWN_DIALECTS
            for name in (PREPARE, BOUND)
        }
        with contextlib.ExitStack() as stack:
            for plural, name in (
                ("mutatingwebhookconfigurations", MUTATING),
                ("validatingwebhookconfigurations", VALIDATING),
            ):
                stack.enter_context(self.without(f"/apis/{ADMISSION}/v1/{plural}", name))
            yield
        self._prepared = {}
        nowhere = {"metadata": {"name": "no-such-pod", "uid": "no-such-uid", "namespace": TENANTS}}
        until(lambda: "denied the request" in self.admin.request(nowhere).text)

    @contextlib.contextmanager
    def without(self, collection: str, name: str) -> Iterator[None]:
        """An object is not there for as long as the block runs."""
        kept = self.cluster.admin.get(f"{collection}/{name}").ok()
        for field in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"):
            kept["metadata"].pop(field, None)
        self.cluster.admin.delete(f"{collection}/{name}")
        try:
            yield
        finally:
            self.cluster.admin.create(collection, kept)

    @contextlib.contextmanager
    def with_every_right(self) -> Iterator[None]:
        """Every account may do everything that no policy and no webhook refuses; none of it is kept."""
        group = "rbac.authorization.k8s.io"
        body = {
            "metadata": {"name": "every-right"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [
                {"kind": "Group", "apiGroup": group, "name": one}
                for one in ("system:serviceaccounts", NODE_GROUP)
            ],
        }
        self.admin.create(CLUSTERROLEBINDINGS, body).ok()
        Account.tried = True
        try:
            yield
        finally:
            Account.tried = False
            self.cluster.admin.delete(CLUSTERROLEBINDINGS.object_path("every-right"))

    def vacate(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of the administrator."""
        return vacate(*arguments, "--kubeconfig", str(self.cluster.kubeconfig))

    def post(self, path: str, body: bytes) -> Reply:
        """A review sent to the webhook past the API server, by whoever reaches its port."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        host = urllib.parse.urlsplit(self.cluster.webhook_url)
        connection = http.client.HTTPSConnection(host.hostname or "", host.port, timeout=60, context=context)
        with contextlib.closing(connection):
            # It may answer before it has read all of it.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return Reply(answer.status, answer.read())

    def _user(
        self,
        name: str,
        role: str = "",
        rules: Sequence[tuple[Kind, list[str]]] = (),
        *,
        sub: str = "",
        cluster: bool = False,
    ) -> Account:
        """Of a service account among the tenants that has this role there, or these rights everywhere.

        `sub` is the part of the objects that the rights are about; with `cluster` the role is for all of it.
        """
        self.admin.create(SERVICEACCOUNTS, {"metadata": {"name": name}}).ok()
        kind = CLUSTERROLEBINDINGS if rules or cluster else ROLEBINDINGS
        if rules:
            rows = [
                {
                    "apiGroups": [one.group],
                    "resources": [f"{one.plural}/{sub}" if sub else one.plural],
                    "verbs": verbs,
                }
                for one, verbs in rules
            ]
            self.admin.create(CLUSTERROLES, {"metadata": {"name": name}, "rules": rows}).ok()
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role or name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": TENANTS}],
        }
        self.admin.create(kind, binding).ok()
        granted = self.admin.get(CLUSTERROLES, role or name).ok()["rules"]
        until_granted(self.cluster.admin, f"system:serviceaccount:{TENANTS}:{name}", granted, TENANTS)
        return self._account(TENANTS, name)

    def _node(self, name: str) -> NodeIdentity:
        """The identity of a node, with the role for those of `vacate node`.

        And with the rights that all nodes have to all pods by the authorizer of nodes: to delete them.
        """
        user = node_user(name)
        for role in (SHUTDOWN_REQUESTER, "system:node"):
            binding = {
                "metadata": {"name": f"{name}-{role.replace(':', '-')}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
            }
            self.admin.create(CLUSTERROLEBINDINGS, binding).ok()
        return NodeIdentity(self.cluster.admin, user)

    def agent_pod(self, node: str) -> Obj:
        """The pod of the shutdown agent on a node."""
        spec = {
            "serviceAccountName": SHUTDOWN_AGENT,
            "nodeName": node,
            "containers": [{"name": "main", "image": "app:1"}],
        }
        return self.admin.create(PODS, {"metadata": {"name": f"agent-{node}"}, "spec": spec}, AGENTS).ok()

    def token(self, namespace: str, name: str, pod: Obj | None = None) -> str:
        """Of a service account; where it is bound to a pod, it names the pod's node."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        spec: Obj = {"expirationSeconds": 3600}
        if pod is not None:
            of = pod["metadata"]
            spec["boundObjectRef"] = {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": of["name"],
                "uid": of["uid"],
            }
        token: str = self.cluster.admin.create(path, {"spec": spec})["status"]["token"]
        return token

    def _account(self, namespace: str, name: str, pod: Obj | None = None) -> Account:
        user = f"system:serviceaccount:{namespace}:{name}"
        return Account(self.cluster.admin.with_token(self.token(namespace, name, pod)), user)


@contextlib.contextmanager
def site(folder: Path, nodes: int) -> Iterator[Site]:
    """All of it, for as long as the block runs."""
    no_hooks = folder / "no-hooks.yaml"
    no_hooks.write_text("targets: []")
    installed = (*_INSTALLED, "--hooks", str(no_hooks))
    with (
        serving(CompanyWebhook()) as company,
        real_cluster(
            folder, nodes, install=installed, webhook=_WEBHOOK, manager=_MANAGER, lifecycle=True
        ) as cluster,
    ):
        yield Site(cluster, company)
