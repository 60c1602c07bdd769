"""A node that requests evictions of its own pods, with the rights of a node and the role for it."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace

import pytest

from support.nodes.shutdown_agents import eventually
from vacate.api.installednames import SHUTDOWN_REQUESTER
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    EVACUATIONS,
    EVICTIONREQUESTS,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    PODS,
)
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import SHUTDOWN_DEADLINE
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.bootstrap.identities import ADMIN, controller, node
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import system_entropy
from vacate.errors import TransportError
from vacate.install.manifests.roles import user_roles
from vacate.nodeagent.shutdown import requests as module
from vacate.nodeagent.shutdown.buckets import ShutdownPod
from vacate.nodeagent.shutdown.requests import ShutdownRequests
from vacate.testing import pod
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

NODE = "laptop"
PLURAL = EVICTIONREQUESTS.plural
_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}


@dataclass
class Wire:
    """The node's connection: it notes what is done to eviction requests, and can be cut or held up."""

    server: ApiServer
    verbs: set[str] = field(default_factory=set)
    cut: bool = False
    hold: Callable[[Request], asyncio.Event | None] = lambda _: None

    async def send(self, request: Request) -> Response:
        if self.cut:
            raise TransportError("the API server is away")
        _, found, rest = request.path.partition(f"/{PLURAL}")
        if found:
            self.verbs.add(_VERBS.get(request.method) or _reading(request, named=bool(rest)))
        answer = await InProcessTransport(self.server, node(NODE)).send(request)
        if (until := self.hold(request)) is not None:
            await until.wait()
        return answer

    async def aclose(self) -> None:
        return


def _reading(request: Request, *, named: bool) -> str:
    return "get" if named else "watch" if "watch" in request.query else "list"


@dataclass
class Cluster:
    server: ApiServer
    admin: Client
    wire: Wire
    failures: int = 0

    def requests(self) -> ShutdownRequests:
        return ShutdownRequests(Client(self.wire), SystemClock(), system_entropy(), NODE, SHUTDOWN_REQUESTER)

    def fail(self) -> None:
        self.failures += 1

    async def bind(self) -> None:
        """As the administrator does by the documentation."""
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": SHUTDOWN_REQUESTER}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"system:node:{NODE}"}
        binding = {"metadata": {"name": "laptop-shutdown"}, "roleRef": ref, "subjects": [subject]}
        await self.admin.create(CLUSTERROLEBINDINGS, binding)

    async def run_pod(self, name: str) -> ShutdownPod:
        spec = {"nodeName": NODE, "evictionInterceptors": [{"name": "backup.example.com"}]}
        made = await self.admin.create(PODS, pod(name, spec=spec))
        return ShutdownPod(made["metadata"]["uid"], "default", name, 0, 30.0, interceptors=True)

    async def asked(self) -> dict[str, list[str]]:
        """Who requests which pods' evictions."""
        found = (await self.admin.list(EVICTIONREQUESTS, "default")).items
        return {
            one["spec"]["target"]["podRef"]["name"]: [
                who["name"] for who in one["spec"].get("requesters", ())
            ]
            for one in found
        }


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    server = await open_server(ServerParts(MemoryLog(), SystemClock(), system_entropy()))
    yield Cluster(server, Client(InProcessTransport(server, ADMIN)), Wire(server))
    await server.storage.store.aclose()


OWN = f"{NODE}.shutdown.vacate.dev"


async def test_without_the_role_the_pod_ends_at_once_and_the_log_names_the_role(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    requests = cluster.requests()
    requests.request(await cluster.run_pod("db"), 60.0, cluster.fail)
    await eventually(lambda: cluster.failures)
    assert "forbidden" in caplog.text
    assert f"bind the ClusterRole {SHUTDOWN_REQUESTER} to the identity of this node" in caplog.text
    assert await cluster.asked() == {}
    await requests.aclose()


async def test_the_role_has_the_rights_that_are_used_and_no_other(cluster: Cluster) -> None:
    await cluster.bind()
    requests = cluster.requests()
    db = await cluster.run_pod("db")
    old = await _completed_request(cluster, db)
    requests.request(db, 60.0, cluster.fail)

    async def is_new() -> Obj | None:
        found = (await cluster.admin.list(EVICTIONREQUESTS, "default")).items
        return next((one for one in found if one["metadata"]["uid"] != old["metadata"]["uid"]
                     and SHUTDOWN_DEADLINE in one["metadata"].get("annotations", {})), None)  # fmt: skip

    async def without_finalizer() -> bool:
        """What holds the old one lets go of it when it is deleted."""
        (found,) = (await cluster.admin.list(EVICTIONREQUESTS, "default")).items
        return "deletionTimestamp" in found["metadata"] and "watch" in cluster.wire.verbs

    await eventually(without_finalizer)
    name = old["metadata"]["name"]
    await cluster.admin.patch(EVICTIONREQUESTS, name, {"metadata": {"finalizers": None}}, "default")
    await eventually(is_new)
    requests.withdraw_all()

    async def is_withdrawn() -> bool:
        return (await cluster.asked())["db"] == []

    await eventually(is_withdrawn)
    assert cluster.failures == 0
    (role,) = [one for one in user_roles() if one["metadata"]["name"] == SHUTDOWN_REQUESTER]
    *requested, followed = role["rules"]
    for kind, rule in zip((EVICTIONREQUESTS, EVACUATIONS, LIFECYCLE_REQUESTS), requested, strict=True):
        assert (rule["apiGroups"], rule["resources"]) == ([kind.group], [kind.plural])
        assert set(rule["verbs"]) == cluster.wire.verbs
    # There the process is another object than the request.
    assert (followed["resources"], followed["verbs"]) == ([LIFECYCLE_EVICTIONS.plural], ["list", "watch"])
    await requests.aclose()


async def _completed_request(cluster: Cluster, pod: ShutdownPod) -> Obj:
    """One that is over though its pod is still there, and that something holds on to."""
    body = {
        "metadata": {"name": pod.uid, "finalizers": ["example.com/audit"]},
        "spec": {
            "target": {"podRef": {"name": pod.name, "uid": pod.uid}},
            "requesters": [{"name": "other.example.com"}],
        },
    }
    made = await cluster.admin.create(EVICTIONREQUESTS, body, "default")
    controllers = Client(InProcessTransport(cluster.server, controller("evictionrequest-controller")))
    at = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    complete = {
        "type": "Complete",
        "status": "True",
        "reason": "Cancelled",
        "message": "",
        "lastTransitionTime": at,
    }
    await controllers.patch(
        EVICTIONREQUESTS, pod.uid, {"status": {"conditions": [complete]}}, "default", subresource="status"
    )
    return made


async def test_a_request_that_is_made_is_kept_to_though_its_deadline_is_written_late(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the request on its interceptors may be at work."""
    monkeypatch.setattr(module, "FIRST_RETRY_SECONDS", 0.02)
    await cluster.bind()
    lost = list[str]()

    def hold(request: Request) -> None:
        if request.method == "PATCH" and not lost:
            lost.append(request.path)
            raise TransportError("the API server is away")

    cluster.wire.hold = hold
    requests = cluster.requests()
    requests.request(await cluster.run_pod("db"), 60.0, cluster.fail)

    async def is_named() -> bool:
        found = (await cluster.admin.list(EVICTIONREQUESTS, "default")).items
        return any(SHUTDOWN_DEADLINE in (one["metadata"].get("annotations") or {}) for one in found)

    await eventually(is_named)
    assert (len(lost), cluster.failures) == (1, 0)
    await requests.aclose()


async def test_a_request_that_is_under_way_when_the_shutdown_is_cancelled_does_not_stay(
    cluster: Cluster,
) -> None:
    await cluster.bind()
    created, answered = asyncio.Event(), asyncio.Event()

    def hold(request: Request) -> asyncio.Event | None:
        if request.method != "POST":
            return None
        created.set()  # the server has it, and the node does not know yet
        return answered

    cluster.wire.hold = hold
    requests = cluster.requests()
    requests.request(await cluster.run_pod("db"), 60.0, cluster.fail)
    await created.wait()
    requests.withdraw_all()
    answered.set()

    async def is_withdrawn() -> bool:
        return await cluster.asked() == {"db": []}

    await eventually(is_withdrawn)
    await requests.aclose()


async def test_what_an_earlier_agent_requested_is_withdrawn_when_the_server_is_back(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_RETRY_SECONDS", 0.02)
    await cluster.bind()
    patches = list[Request]()
    cluster.wire.hold = lambda one: patches.append(one) if one.method == "PATCH" else None
    first = cluster.requests()
    first.request(await cluster.run_pod("db"), 60.0, cluster.fail)

    async def is_asked() -> bool:
        return bool(patches) and await cluster.asked() == {"db": [OWN]}

    await eventually(is_asked)
    await first.aclose()
    cluster.wire.cut = True
    second = cluster.requests()
    second.withdraw_all()
    await asyncio.sleep(0)
    assert await is_asked()
    cluster.wire.cut = False

    async def is_withdrawn() -> bool:
        return await cluster.asked() == {"db": []}

    await eventually(is_withdrawn)
    await cluster.wire.send(patches[0])  # a copy of it that is stored late
    (left,) = (await cluster.admin.list(EVICTIONREQUESTS, "default")).items
    assert SHUTDOWN_DEADLINE not in left["metadata"].get("annotations", {})
    await second.aclose()


async def test_another_pod_of_the_same_name_is_not_requested(cluster: Cluster) -> None:
    await cluster.bind()
    gone = replace(await cluster.run_pod("db"), uid="11111111-1111-1111-1111-111111111111")
    requests = cluster.requests()
    requests.request(gone, 60.0, cluster.fail)
    await eventually(lambda: cluster.failures)
    assert await cluster.asked() == {}
    await requests.aclose()


@pytest.fixture(autouse=True)
def _log_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "vacate.nodeagent")
