"""Waiting for an installation: by watching, with an end, and with reasons."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from support.tiny_server import TinyServer
from vacate.api.installednames import CERTIFICATES, MANAGER, MUTATING, VALIDATING, WEBHOOK, labels
from vacate.api.kinds import DEPLOYMENTS, PODS
from vacate.api.objects import Obj
from vacate.api.status import to_status
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.entropy import system_entropy
from vacate.errors import Forbidden
from vacate.install import Settings, objects
from vacate.install.apply.rollout import Rollout, awaited
from vacate.install.objectkinds import shown
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

HERE = "vacate-system"
DONE = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
KINDS = [*SERVED_KINDS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS]


def a_server() -> TinyServer:
    server = TinyServer(kinds=KINDS)
    for name in (CERTIFICATES, MANAGER, WEBHOOK):
        deploy(server, name, {})
    for kind, name in ((MUTATING_WEBHOOKS, MUTATING), (VALIDATING_WEBHOOKS, VALIDATING)):
        server.put(kind, name, "", webhooks=[{"clientConfig": {}}])
    return server


def deploy(server: TinyServer, name: str, status: Obj) -> None:
    marks = labels(name.removeprefix("vacate-"))
    meta = {"labels": marks, "generation": 1}
    spec = {"replicas": 2, "selector": {"matchLabels": marks}}
    server.put(DEPLOYMENTS, name, HERE, metadata=meta, spec=spec, status=status)


def trust(server: TinyServer) -> None:
    for kind, name in ((MUTATING_WEBHOOKS, MUTATING), (VALIDATING_WEBHOOKS, VALIDATING)):
        server.put(kind, name, "", webhooks=[{"clientConfig": {"caBundle": "eA=="}}])


def a_rollout(server: TinyServer, lines: list[str]) -> Rollout:
    client = Client(InProcessTransport(server))
    return Rollout(client, SystemClock(), system_entropy(), Settings(), lines.append)


async def quiet(server: TinyServer) -> int:
    """How many requests were sent, once no more are."""
    before = -1
    while before != len(server.requests):
        before = len(server.requests)
        for _ in range(50):
            await asyncio.sleep(0)
    return before


async def test_it_returns_when_all_is_ready_and_asks_nothing_meanwhile() -> None:
    server, lines = a_server(), list[str]()
    waiting = asyncio.ensure_future(a_rollout(server, lines).wait(60.0))
    asked = await quiet(server)
    for name in (CERTIFICATES, MANAGER, WEBHOOK):
        deploy(server, name, DONE)
        await quiet(server)
        assert lines[-1] == f"deployment.apps/{name} ready"
    assert not waiting.done()
    trust(server)
    assert await asyncio.wait_for(waiting, 60) == []
    assert sorted(lines) == sorted(f"{shown(obj)} ready" for obj in awaited(Settings()))
    assert len(server.requests) == asked


async def test_what_is_not_ready_in_time_is_named_with_its_reason() -> None:
    server = a_server()
    deploy(server, MANAGER, DONE)
    deploy(server, CERTIFICATES, DONE)
    state = {"waiting": {"reason": "ErrImagePull", "message": "not found"}}
    status = {"containerStatuses": [{"state": state}]}
    server.put(PODS, "vacate-webhook-1", HERE, metadata={"labels": labels("webhook")}, status=status)
    left = await a_rollout(server, []).wait(0.2)
    assert left == [
        (
            f"deployment.apps/{WEBHOOK}: the change has not been seen by its controller yet: "
            "pod vacate-webhook-1: ErrImagePull: not found"
        ),
        (
            f"mutatingwebhookconfiguration.admissionregistration.k8s.io/{MUTATING}: "
            "1 of 1 webhooks have no authority yet"
        ),
        (
            f"validatingwebhookconfiguration.admissionregistration.k8s.io/{VALIDATING}: "
            "1 of 1 webhooks have no authority yet"
        ),
    ]


async def test_a_refused_watch_is_reported() -> None:
    class Refusing(TinyServer):
        async def handle(self, request: Request) -> Response:
            return Response(403, orjson.dumps(to_status(Forbidden("pods is forbidden"))))

    left = await a_rollout(Refusing(), []).wait(0.2)
    assert left == ["the cluster cannot be watched: pods is forbidden"]


async def test_what_breaks_down_meanwhile_is_not_waited_for() -> None:
    class Broken(TinyServer):
        async def handle(self, request: Request) -> Response:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await asyncio.wait_for(a_rollout(Broken(), []).wait(60.0), 50)


def test_a_webhook_elsewhere_is_not_waited_for() -> None:
    outside = Settings(webhook_url="https://10.0.0.1:9443")
    assert [obj["kind"] for obj in awaited(outside)] == ["Deployment"]
    assert awaited(Settings(webhook_url="https://10.0.0.1:9443", deploy_manager=False)) == []
    assert [obj["kind"] for obj in awaited(Settings(ca_bundle=b"PEM"))] == ["Deployment"] * 3
    assert len(awaited(Settings())) == 5
    assert all(obj in objects(Settings()) for obj in awaited(Settings()))
