"""The policies of an installation about what its accounts, and nodes, write of lifecycle.k8s.io.

And which requests of Vacate's own API a node removes.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson
import pytest
import pytest_asyncio
from multidict import CIMultiDict

from vacate.api.identity import (
    MASTERS,
    NODE_NAME_EXTRA,
    StatusAuthority,
    User,
    node_user,
    service_account_user,
)
from vacate.api.installednames import (
    MANAGER,
    NODE_PODS,
    NODE_USERS,
    OWN_LIFECYCLE,
    OWN_PODS,
    SHUTDOWN_AGENT,
    WEBHOOK,
)
from vacate.api.kinds import LIFECYCLE_REQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.clock import SystemClock
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import seeded_entropy
from vacate.eviction.callers import CALLERS, caller_name
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import REASON
from vacate.eviction.dialects.registry import OWN_DIALECTS
from vacate.eviction.requesternames import fitted_requester, keyed
from vacate.features import parse_feature_gates
from vacate.install.manifests.confinement import agent_confinement, confinement
from vacate.install.objectkinds import path_of
from vacate.install.settings import Confinement, Settings, ShutdownAgent
from vacate.nodeagent.shutdown.requests import REQUESTER_SUFFIX
from vacate.wire.message import Peer, Request

pytestmark = [pytest.mark.unit, pytest.mark.asyncio(loop_scope="module")]

OWN, OTHER = "own-0.example.com", "other-0"
SETTINGS = Settings(confine=Confinement.OFF, shutdown_agent=ShutdownAgent())
"""With as little as an installation may have: what is tried here always applies."""

AGENT = service_account_user(ShutdownAgent().namespace, SHUTDOWN_AGENT)
USERS: dict[str, tuple[str, str]] = {
    MANAGER: (service_account_user(SETTINGS.namespace, MANAGER), ""),
    WEBHOOK: (service_account_user(SETTINGS.namespace, WEBHOOK), ""),
    SHUTDOWN_AGENT: (AGENT, OWN),
    "agent of no node": (AGENT, ""),
    NODE_USERS: (node_user(OWN), ""),
    "kubelet elsewhere": (node_user(OTHER), ""),
    "someone": ("jane", OTHER),
}
"""User and node of the token, by who acts."""

OWN_NAME = "example.com.shutdown.vacate.dev/own-0"
NAMES = {
    MANAGER: keyed("kernel.update.nodemaintenance.vacate.dev"),
    WEBHOOK: keyed(caller_name("jane@example.com")),
    SHUTDOWN_AGENT: OWN_NAME,
    NODE_USERS: OWN_NAME,
}
"""A requester that each account really is."""


class PoliciesAlone(StatusAuthority):
    """Of a server that asks of no user whether it is a node, as those of Kubernetes do."""

    def node_of(self, user: User) -> None:
        return None


@dataclass
class Place:
    server: ApiServer
    pods: dict[str, Obj]
    made: int = 0

    async def call(self, who: str, method: str, path: str, body: Obj | None = None) -> Obj:
        form = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = CIMultiDict({"Content-Type": form})
        user, node = USERS.get(who, ("", ""))
        if user:
            headers.update({"Impersonate-User": user, "Impersonate-Group": MASTERS})
        if node:
            headers[f"Impersonate-Extra-{NODE_NAME_EXTRA.replace('/', '%2f')}"] = node
        sent = b"" if body is None else orjson.dumps(body)
        peer = Peer("admin", (MASTERS,))
        answer = await self.server.handle(Request(method, path, headers=headers, body=sent, peer=peer))
        assert isinstance(answer.body, bytes)
        found: Obj = orjson.loads(answer.body)
        return found

    async def pod(self, name: str, node: str) -> Obj:
        """A new pod on that node."""
        spec = {"nodeName": node, "containers": [{"name": "main", "image": "app:1"}]}
        body = {"metadata": {"name": name}, "spec": spec}
        made = await self.call("admin", "POST", PODS.collection_path("default"), body)
        assert made["kind"] == "Pod", made
        return made

    def wanted(self, requester: str, pod: str = "own", **meta: Any) -> Obj:
        self.made += 1
        of = self.pods[pod]["metadata"]
        target = {"pod": {"name": of["name"], "uid": of["uid"]}}
        return {
            "apiVersion": LIFECYCLE_REQUESTS.api_version,
            "kind": LIFECYCLE_REQUESTS.kind,
            "metadata": {"name": f"request-{self.made}", **meta},
            "spec": {"target": target, "requester": requester, "intent": "Eviction"},
        }

    async def create(self, who: str, body: Obj) -> Obj:
        return await self.call(who, "POST", LIFECYCLE_REQUESTS.collection_path("default"), body)

    async def there(self, requester: str) -> str:
        """The path of a request that an administrator made."""
        made = await self.create("admin", self.wanted(requester))
        return LIFECYCLE_REQUESTS.object_path(made["metadata"]["name"], "default")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place() -> AsyncIterator[Place]:
    gates, authority = parse_feature_gates("LifecycleAPI=true,EvacuationAPI=true"), PoliciesAlone()
    parts = ServerParts(MemoryLog(), SystemClock(), seeded_entropy(1), gates=gates, authority=authority)
    found = Place(await open_server(parts), {})
    for obj in [*confinement(SETTINGS), *agent_confinement(SETTINGS)]:
        made = await found.call("admin", "POST", path_of(obj, collection=True), obj)
        assert made["kind"] == obj["kind"], made
    for name, node in (("own", OWN), ("other", OTHER)):
        found.pods[name] = await found.pod(name, node)
    yield found
    await found.server.storage.store.aclose()


def refused_by(answer: Obj) -> str:
    """The policy that refuses; empty where none does."""
    if answer.get("kind") != "Status" or answer.get("status") == "Success":
        return ""
    assert answer["code"] == 403, answer
    found: str = answer["message"].partition("ValidatingAdmissionPolicy '")[2].partition("'")[0]
    assert found, answer
    return found


@pytest.mark.parametrize("account", NAMES)
async def test_what_an_account_does_it_may(place: Place, account: str) -> None:
    pod = place.pods["own"]["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "uid": pod["uid"]}
    notes = {REASON: "a kernel update", **({CALLERS: "{}"} if account == WEBHOOK else {})}
    body = place.wanted(NAMES[account], ownerReferences=[owner], annotations=notes)
    made = await place.create(account, body)
    assert refused_by(made) == "", made
    path = LIFECYCLE_REQUESTS.object_path(made["metadata"]["name"], "default")
    changed = await place.call(account, "PATCH", path, {"spec": {"intent": "Withdrawn"}})
    assert changed["spec"]["intent"] == "Withdrawn", changed
    if account != WEBHOOK:
        assert refused_by(await place.call(account, "DELETE", path)) == ""


HOLDING: dict[str, Obj] = {
    "a finalizer": {"finalizers": ["example.com/pin"]},
    "a label": {"labels": {"app": "web"}},
    "a label of Vacate's": {"labels": {"vacate.dev/x": "y"}},
    "an annotation": {"annotations": {"vacate.dev/x": "y"}},
    "another owner": {
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "no-such-uid"}]
    },
}


@pytest.mark.parametrize("what", HOLDING)
@pytest.mark.parametrize("account", NAMES)
async def test_nothing_in_a_new_request_can_hold_it(place: Place, account: str, what: str) -> None:
    body = place.wanted(NAMES[account], **copy.deepcopy(HOLDING[what]))
    assert refused_by(await place.create(account, body)) == OWN_LIFECYCLE[account]


@pytest.mark.parametrize("what", ["a finalizer", "a label of Vacate's", "an annotation", "another owner"])
@pytest.mark.parametrize("account", NAMES)
async def test_nothing_in_its_own_request_can_be_made_to_hold_it(
    place: Place, account: str, what: str
) -> None:
    path = await place.there(NAMES[account])
    answer = await place.call(account, "PATCH", path, {"metadata": HOLDING[what]})
    name = OWN_LIFECYCLE[account].removesuffix("-own-lifecycle-requests").removeprefix("vacate-")
    assert refused_by(answer) == f"vacate-confine-{name}-lifecycle-evictionrequests"


FOREIGN = {
    MANAGER: ("acme.io/drain", NAMES[WEBHOOK], OWN_NAME, "nodemaintenance.vacate.dev.acme.io/x"),
    WEBHOOK: ("acme.io/drain", NAMES[MANAGER], OWN_NAME, "evil-bridge.vacate.dev/x"),
    SHUTDOWN_AGENT: ("acme.io/drain", "shutdown.vacate.dev/other-0", "shutdown.vacate.dev/own-0"),
    NODE_USERS: ("acme.io/drain", "shutdown.vacate.dev/other-0", "shutdown.vacate.dev/own-0"),
    "agent of no node": (OWN_NAME, "shutdown.vacate.dev/own-0"),
}


@pytest.mark.parametrize("account", FOREIGN)
async def test_it_takes_no_other_name(place: Place, account: str) -> None:
    policy = OWN_LIFECYCLE.get(account, OWN_LIFECYCLE[SHUTDOWN_AGENT])
    for name in FOREIGN[account]:
        found = refused_by(await place.create(account, place.wanted(name)))
        assert found == policy or (account == "agent of no node" and found == OWN_PODS), name
        path = await place.there(name)
        withdrawn = await place.call(account, "PATCH", path, {"spec": {"intent": "Withdrawn"}})
        removed = await place.call(account, "DELETE", path)
        if (account, name) == (MANAGER, NAMES[WEBHOOK]):  # callers that no longer ask
            assert refused_by(withdrawn) == ""
        else:
            assert refused_by(withdrawn) in (policy, OWN_PODS), name
        assert refused_by(removed) == policy, name


@pytest.mark.parametrize(("account", "policy"), [(SHUTDOWN_AGENT, OWN_PODS), (NODE_USERS, NODE_PODS)])
async def test_a_node_requests_evictions_of_its_own_pods_only(
    place: Place, account: str, policy: str
) -> None:
    assert refused_by(await place.create(account, place.wanted(OWN_NAME, "other"))) == policy


@pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
@pytest.mark.parametrize(("account", "policy"), [(SHUTDOWN_AGENT, OWN_PODS), (NODE_USERS, NODE_PODS)])
async def test_a_node_removes_requests_for_its_own_pods_only(
    place: Place, account: str, policy: str, dialect: Dialect
) -> None:
    """Also those of Vacate's own API: who removes a request has its interceptors begin anew."""
    refused = {}
    for node in (OWN, OTHER):
        place.made += 1
        pod = await place.pod(f"removed-{place.made}", node)
        requester = fitted_requester(OWN, REQUESTER_SUFFIX, dialect.max_requester)
        kind = dialect.kind
        body = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            **dialect.new_request(msgspec.convert(pod, Pod), requester, "", None),
        }
        made = await place.call("admin", "POST", kind.collection_path("default"), body)
        assert made["kind"] == kind.kind, made
        path = kind.object_path(made["metadata"]["name"], "default")
        refused[node] = refused_by(await place.call(account, "DELETE", path))
    assert refused == {OWN: "", OTHER: policy}


async def test_others_write_what_they_may(place: Place) -> None:
    body = place.wanted("acme.io/drain", "other", finalizers=["example.com/pin"], labels={"app": "web"})
    assert refused_by(await place.create("someone", body)) == ""
