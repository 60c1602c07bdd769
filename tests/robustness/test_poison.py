"""A request whose stored status is bad can still be listed, put right and deleted, on both ways in."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator

import pytest

from embedded.registry.given import NOW, RUNNING, stored
from support.embedded import Embedded, embedded, namespace
from support.hostile.poison import bad_statuses, store_status
from support.reviews import MUTATE, VALIDATE, Hook, review
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import NAMESPACES, PODS
from vacate.api.objects import Obj

pytestmark = pytest.mark.unit

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        one.clock.moment = NOW
        await one.seed(NAMESPACES, namespace("shop"))
        await one.seed(PODS, copy.deepcopy(RUNNING["web"]))
        yield one


def request() -> Obj:
    obj = stored(KIND)
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, **obj}


def path(obj: Obj) -> str:
    return f"{KIND.collection_path('shop')}/{obj['metadata']['name']}"


async def test_the_embedded_server(server: Embedded) -> None:
    for status in bad_statuses():
        obj = request()
        await store_status(server.store, KIND, obj, status)
        table = await server.ask("GET", KIND.collection_path("shop"), accept=TABLE)
        assert table.code == 200, status
        assert [row["cells"][0] for row in table.body["rows"]] == [obj["metadata"]["name"]]
        repaired = await server.ask(
            "PATCH", f"{path(obj)}/status", _cleared(status), content_type="application/merge-patch+json"
        )
        assert repaired.code in (200, 422), (status, repaired.body)
        found = server.stored(KIND, obj["metadata"]["name"], "shop")
        assert found is not None
        fresh = {**found, "status": {}}
        replaced = await server.ask("PUT", f"{path(obj)}/status", fresh)
        assert replaced.code in (200, 422), (status, replaced.body)
        gone = await server.ask("DELETE", path(obj))
        assert gone.code == 200, (status, gone.body)


async def test_the_webhook(server: Embedded) -> None:
    hook = Hook.beside(server)
    for status in bad_statuses():
        old = {**request(), "status": status}
        new = {**request(), "status": {}}
        put = review("UPDATE", new=new, old=old, subresource="status")
        put["request"]["oldObject"] = old  # as a server without our schema would hand it over
        reply = await hook.ask(VALIDATE, put)
        assert reply.code == 200, status
        assert reply.allowed or reply.refusal["code"] == 422, (status, reply.body)
        delete = review("DELETE", old=old)
        delete["request"]["oldObject"] = old
        assert (await hook.ask(VALIDATE, delete)).allowed, status
        assert (await hook.ask(MUTATE, delete)).allowed, status


def _cleared(status: object) -> Obj:
    """A merge patch that takes every field of the status away."""
    return {"status": dict.fromkeys(status, None) if isinstance(status, dict) else None}
