"""Reviews of force deletions: each that is allowed is an Event with the user's name and is counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import ADMIN, Embedded, embedded
from support.reviews import Hook, ReviewAnswer, review
from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.kinds import EVENTS, PODS
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import TransportError
from vacate.testing import pod
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

PATH = "/record/forcedeletions"
FORCE = {"kind": "DeleteOptions", "gracePeriodSeconds": 0}
JANE = {"username": "jane", "groups": []}
POD_GC = {"username": "system:serviceaccount:kube-system:pod-garbage-collector", "groups": []}
TAINT_EVICTION = {"username": "system:serviceaccount:kube-system:node-controller", "groups": []}
STATEFUL_SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "s", "controller": True}
KUBELET = {"username": "system:node:node-1", "groups": ["system:nodes"]}


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as server:
        body = pod("p", namespace="d")
        body["spec"]["nodeName"] = "node-1"
        await server.ask("POST", PODS.collection_path("d"), body)
        yield server


@pytest.fixture
def hook(server: Embedded) -> Hook:
    return Hook.beside(server)


def client_of(server: Embedded) -> Client:
    return Client(InProcessTransport(server.server, ADMIN))


async def messages(server: Embedded) -> list[str]:
    found = (await client_of(server).list(EVENTS, "d")).items
    return [one["message"] for one in found if one["reason"] == "ForceDeleted"]


def counted(hook: Hook, result: str) -> float | None:
    return hook.metrics.registry.get_sample_value("vacate_pod_force_deletions_total", {"result": result})


async def confirm(server: Embedded) -> str:
    uid = str(stored(server)["metadata"]["uid"])
    await client_of(server).patch(PODS, "p", {"metadata": {"annotations": {CONFIRMATION: uid}}}, "d")
    return uid


def stored(server: Embedded) -> Obj:
    found = server.stored(PODS, "p")
    assert found is not None
    return found


async def delete(hook: Hook, server: Embedded, user: Obj = JANE, **more: Any) -> ReviewAnswer:
    asked = {"options": FORCE, **more}
    return await hook.ask(
        PATH, review("DELETE", old=stored(server), kind=PODS, namespace="d", user=user, **asked)
    )


async def test_who_confirmed_is_named_once_and_counted(server: Embedded, hook: Hook) -> None:
    await confirm(server)
    assert (await delete(hook, server)).allowed
    assert (await delete(hook, server)).allowed  # tried again
    (message,) = await messages(server)
    assert message == (
        'User "jane" force deleted the pod after confirming the consequences; node node-1 has not confirmed '
        "that its processes have ended"
    )
    assert counted(hook, "confirmed") == 2


async def test_an_eviction_that_is_confirmed_on_itself(server: Embedded, hook: Hook) -> None:
    uid = str(stored(server)["metadata"]["uid"])
    body = {
        "metadata": {"name": "p", "namespace": "d", "annotations": {CONFIRMATION: uid}},
        "deleteOptions": {**FORCE, "preconditions": {"uid": uid}},
    }
    asked = review("CREATE", new=body, kind=PODS, namespace="d", subresource="eviction", name="p", user=JANE)
    assert (await hook.ask(PATH, asked)).allowed
    assert [text.split(";")[0] for text in await messages(server)] == [
        'User "jane" force deleted the pod after confirming the consequences'
    ]


@pytest.mark.parametrize(
    ("user", "how", "result"),
    [(POD_GC, "by its identity", "system"), (JANE, "in a namespace without the guard", "unguarded")],
    ids=["pod GC", "unguarded"],
)
async def test_others_who_may(server: Embedded, hook: Hook, user: Obj, how: str, result: str) -> None:
    assert (await delete(hook, server, user)).allowed
    (message,) = await messages(server)
    assert f'User "{user["username"]}" force deleted the pod {how};' in message
    assert counted(hook, result) == 1


@pytest.mark.parametrize(
    "options", [{"kind": "DeleteOptions"}, FORCE], ids=["as-taint-eviction-does", "force"]
)
async def test_a_member_whose_own_grace_period_is_0_is_removed_at_once_by_any_deletion(
    server: Embedded, hook: Hook, options: Obj
) -> None:
    """One from before the guard. Another pod's author may choose that, which is not reported."""
    for name, owners in (("alone", []), ("s-0", [STATEFUL_SET])):
        made = pod(name, namespace="d")
        made["metadata"]["ownerReferences"] = owners
        made["spec"] |= {"nodeName": "node-1", "terminationGracePeriodSeconds": 0}
        assert (await server.ask("POST", PODS.collection_path("d"), made)).code == 201
        old = server.stored(PODS, name)
        asked = review("DELETE", old=old, kind=PODS, namespace="d", user=TAINT_EVICTION, options=options)
        assert (await hook.ask(PATH, asked)).allowed
    (message,) = await messages(server)
    assert str(TAINT_EVICTION["username"]) in message
    assert "the pod's own grace period is 0" in message
    assert counted(hook, "own-grace") == 1


async def test_what_is_no_force_deletion_is_not_reported(server: Embedded, hook: Hook) -> None:
    assert (await delete(hook, server, KUBELET)).allowed  # it has seen the processes end
    assert (await delete(hook, server, options={"kind": "DeleteOptions"})).allowed
    assert (await delete(hook, server, options={**FORCE, "gracePeriodSeconds": 1})).allowed
    assert (await delete(hook, server, dryRun=True)).allowed
    assert (await delete(hook, server, options={**FORCE, "dryRun": ["All"]})).allowed
    await client_of(server).patch(PODS, "p", {"status": {"phase": "Succeeded"}}, "d", subresource="status")
    assert (await delete(hook, server)).allowed
    assert await messages(server) == []
    assert all(counted(hook, result) is None for result in ("node", "confirmed", "unguarded"))


async def test_a_force_deletion_of_no_pod_is_not_reported(server: Embedded, hook: Hook) -> None:
    for meta in ({"name": "q"}, {"name": "p", "uid": "another"}, {"name": "../.."}, {}):
        forged = {**stored(server), "metadata": {"namespace": "d", **meta}}
        asked = review("DELETE", old=forged, kind=PODS, namespace="d", user=JANE, options=FORCE)
        assert (await hook.ask(PATH, asked)).allowed
    assert await messages(server) == []


class Away(InProcessTransport):
    """The API server does not answer the webhook."""

    async def send(self, request: Request) -> Response:
        raise TransportError("away")


async def test_nobody_is_held_up_by_an_api_server_that_is_away(
    server: Embedded, caplog: pytest.LogCaptureFixture
) -> None:
    hook = Hook(Client(Away(server.server, ADMIN)), server.clock)
    assert (await delete(hook, server)).allowed
    assert "no Event for a force deletion in namespace d: away" in caplog.text
