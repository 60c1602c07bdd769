"""Reviews of deletions and evictions, for the reason: what is written, and that nothing is ever refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import ADMIN, Embedded, embedded
from support.reviews import Hook, ReviewAnswer, let_evict, review
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.terminationreason import ANNOTATION, SOURCE_ANNOTATION
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import TransportError
from vacate.testing import pod
from vacate.webhook.reviewer import WebhookConfig
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

PATH = "/annotate/reasons"
TAINT_CONTROLLER = {"username": "system:serviceaccount:kube-system:taint-eviction-controller", "groups": []}


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as server:
        await server.ask("POST", PODS.collection_path("d"), pod("p", namespace="d"))
        yield server


@pytest.fixture
def hook(server: Embedded) -> Hook:
    return Hook.beside(server, WebhookConfig(reasons=True))


def stored_annotations(server: Embedded) -> Obj:
    found = server.stored(PODS, "p")
    assert found is not None
    return found["metadata"].get("annotations") or {}


async def evict(hook: Hook, name: str = "p", user: Obj | None = None) -> ReviewAnswer:
    body = {"metadata": {"name": name, "namespace": "d"}}
    more = {"user": user} if user else {}
    return await hook.ask(
        PATH, review("CREATE", new=body, kind=PODS, namespace="d", subresource="eviction", name=name, **more)
    )


async def delete(hook: Hook, server: Embedded, user: Obj, **more: Any) -> ReviewAnswer:
    found = server.stored(PODS, "p")
    return await hook.ask(PATH, review("DELETE", old=found, kind=PODS, namespace="d", user=user, **more))


async def test_a_reason_is_written_and_replaced(server: Embedded, hook: Hook) -> None:
    assert (await evict(hook)).allowed
    assert stored_annotations(server) == {ANNOTATION: "Eviction", SOURCE_ANNOTATION: "webhook"}
    assert (await delete(hook, server, TAINT_CONTROLLER)).allowed
    assert stored_annotations(server)[ANNOTATION] == "IntolerableTaint"
    assert (await delete(hook, server, {"username": "alice", "groups": []})).allowed
    assert stored_annotations(server) == {}


async def test_nothing_is_written_where_it_is_off_or_has_no_use(server: Embedded, hook: Hook) -> None:
    assert (await evict(hook, "absent")).allowed
    assert (await evict(hook, "no/name")).allowed
    forced = {"kind": "DeleteOptions", "gracePeriodSeconds": 0}
    assert (await delete(hook, server, TAINT_CONTROLLER, options=forced)).allowed
    assert (await delete(hook, server, TAINT_CONTROLLER, dryRun=True)).allowed
    hook.terms = WebhookConfig()
    assert (await evict(hook)).allowed
    assert stored_annotations(server) == {}


class Away(InProcessTransport):
    """The API server does not answer the webhook."""

    async def send(self, request: Request) -> Response:
        raise TransportError("away")


async def test_a_deletion_goes_on_where_no_reason_can_be_written(server: Embedded) -> None:
    hook = Hook(Client(Away(server.server, ADMIN)), server.clock, WebhookConfig(reasons=True))
    assert (await evict(hook)).allowed
    assert (await delete(hook, server, TAINT_CONTROLLER)).allowed


async def test_an_eviction_that_others_refuse_leaves_no_reason(server: Embedded, hook: Hook) -> None:
    """Webhooks are asked side by side: another one, or here a role, refuses what this one is asked about."""
    alice = {"username": "alice", "groups": ["system:authenticated"]}
    assert (await evict(hook, user=alice)).allowed
    assert stored_annotations(server) == {}
    await let_evict(server, "alice")
    assert (await evict(hook, user=alice)).allowed
    assert stored_annotations(server)[ANNOTATION] == "Eviction"


@pytest.mark.parametrize("deleted", [True, False])
async def test_the_reason_of_a_deletion_that_did_not_come_is_taken_back(
    server: Embedded, hook: Hook, deleted: bool
) -> None:
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    path, kind = PODS.object_path("p", "d"), "application/merge-patch+json"
    assert (await server.ask("PATCH", path, held, content_type=kind)).code == 200
    assert (await delete(hook, server, TAINT_CONTROLLER)).allowed
    if deleted:
        assert (await server.ask("DELETE", path, {"gracePeriodSeconds": 30})).code == 200
    else:
        assert stored_annotations(server)[ANNOTATION] == "IntolerableTaint"
    for _ in range(200):  # turns of the loop, in which time passes here
        await asyncio.sleep(0)
    assert (ANNOTATION in stored_annotations(server)) is deleted
