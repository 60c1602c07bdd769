"""What anyone could have the webhook write and say by sending reviews as an API server does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from support.embedded import ADMIN, Embedded, embedded
from support.reviews import ADMIN_INFO, MUTATE, Hook, review
from vacate.api.kinds import EVICTIONREQUESTS, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.terminationreason import (
    ANNOTATION,
    DECOMMISSIONED,
    EVICTION,
    INTOLERABLE_TAINT,
    SOURCE_ANNOTATION,
    UPDATE,
)
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.eviction.callers import SUFFIX
from vacate.testing import pod
from vacate.webhook.reviewer import PATHS, WebhookConfig
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

INTERCEPTOR = "backup.example.com"
USERS = [
    ADMIN_INFO,
    *(
        {"username": f"system:serviceaccount:{name}", "groups": []}
        for name in (
            "kube-system:taint-eviction-controller",
            "kube-system:node-controller",
            "vacate-system:vacate-manager",
            "vacate-system:vacate-webhook",
            "vacate-node:vacate-shutdown-agent",
        )
    ),
    {"username": "jane", "groups": []},
]
OPTIONS: list[Obj] = [{"kind": "DeleteOptions"}, {"kind": "DeleteOptions", "gracePeriodSeconds": 0}]


class Recording(InProcessTransport):
    """Keeps what is written; questions and dry runs are none."""

    def __init__(self, server: Embedded) -> None:
        super().__init__(server.server, ADMIN)
        self.written: list[tuple[str, str, bytes]] = []

    async def send(self, request: Request) -> Response:
        tried = "dryRun" in request.query or request.path.endswith("reviews")
        if request.method != "GET" and not tried:
            self.written.append((request.method, request.path.rpartition("/d/")[2], request.body))
        return await super().send(request)


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as server:
        for name, interceptors in (("p", [INTERCEPTOR]), ("q", [])):
            body = pod(name, namespace="d", labels={"app": "db"}, interceptors=interceptors)
            body["spec"]["nodeName"] = "node-1"
            answer = await server.ask("POST", PODS.collection_path("d"), body)
            assert answer.code == 201, answer
        yield server


def beside(server: Embedded, **config: Any) -> tuple[Hook, Recording]:
    made = Recording(server)
    return Hook(Client(made), server.clock, WebhookConfig(**config)), made


def forged(kind: Kind, obj: Obj, operation: str, sub: str, user: Obj, options: Obj) -> Obj:
    old = obj if operation in ("UPDATE", "DELETE") and not sub else None
    new = None if operation == "DELETE" else obj
    return review(
        operation, new=new, old=old, kind=kind, namespace="d", subresource=sub, user=user, options=options
    )


async def send_everything(hook: Hook, server: Embedded) -> None:
    """On every path, every operation in the name of everyone about every pod."""
    writes = [("CREATE", ""), ("CREATE", "eviction"), ("UPDATE", ""), ("UPDATE", "status"), ("DELETE", "")]
    pods = [found for name in ("p", "q") if (found := server.stored(PODS, name))]
    for path, one in PATHS.items():
        for (operation, sub), user, options, stored in itertools.product(writes, USERS, OPTIONS, pods):
            obj = stored if one.kind is PODS else request_for(stored)
            more = {"deleteOptions": options} if sub == "eviction" else {}
            await hook.ask(path, forged(one.kind, {**obj, **more}, operation, sub, user, options))
    for _ in range(200):  # what goes on behind the answers
        await asyncio.sleep(0)


def request_for(stored: Obj) -> Obj:
    meta = stored["metadata"]
    target = {"podRef": {"name": meta["name"], "uid": meta["uid"]}}
    spec = {"target": target, "requesters": [{"name": "a.example.com"}]}
    return {"metadata": {"name": meta["uid"], "namespace": "d"}, "spec": spec}


REASONS = {EVICTION, INTOLERABLE_TAINT, DECOMMISSIONED, UPDATE, None}  # or none any more
BY_CONFIG: dict[str, tuple[dict[str, Any], set[tuple[str, str]]]] = {
    "neither": ({}, {("POST", "events")}),
    "reasons": ({"reasons": True}, {("POST", "events"), ("PATCH", "pods")}),
    "bridge": (
        {"bridge": True},
        {("POST", "events"), ("POST", "evictionrequests"), ("PATCH", "evictionrequests")},
    ),
}


@pytest.mark.parametrize("which", BY_CONFIG)
async def test_what_anyone_could_have_written(server: Embedded, which: str) -> None:
    """Events of force deletions; one of four reasons; requests in the name of callers, and no eviction."""
    config, kinds = BY_CONFIG[which]
    hook, made = beside(server, **config)
    await send_everything(hook, server)
    written = [(method, path.partition("/")[0], orjson.loads(body)) for method, path, body in made.written]
    assert {(method, plural) for method, plural, _ in written} == kinds
    for method, plural, body in written:
        if plural == "events":
            assert body["reason"] == "ForceDeleted"
        elif plural == "pods":
            assert body["metadata"].keys() == {"uid", "annotations"}
            assert body["metadata"]["annotations"].keys() == {ANNOTATION, SOURCE_ANNOTATION}
            assert body["metadata"]["annotations"][ANNOTATION] in REASONS
        elif method == "POST":
            assert all(one["name"].endswith(SUFFIX) for one in body["spec"]["requesters"])
    for name in ("p", "q"):  # they run on: interceptors have their turns first, and budgets hold after them
        stored = server.stored(PODS, name)
        assert stored is not None
        assert "deletionTimestamp" not in stored["metadata"]
        if which == "bridge" and name == "p":
            request = server.stored(EVICTIONREQUESTS, stored["metadata"]["uid"])
            assert request is not None
            assert [one["name"] for one in request["spec"]["interceptors"]] == [INTERCEPTOR]


@pytest.mark.parametrize("known", ["name", "uid"])
async def test_what_anyone_must_know_of_a_pod(server: Embedded, known: str) -> None:
    """Its name for evictions; for deletions its UID too, which a made-up one does not replace."""
    hook, _ = beside(server, reasons=True)
    stored = server.stored(PODS, "p")
    assert stored is not None
    stored["metadata"]["uid"] = "made-up"
    evicts = known == "name"
    operation, sub = ("CREATE", "eviction") if evicts else ("DELETE", "")
    user = ADMIN_INFO if evicts else USERS[1]
    await hook.ask("/annotate/reasons", forged(PODS, stored, operation, sub, user, OPTIONS[0]))
    found = server.stored(PODS, "p")
    assert found is not None
    assert (ANNOTATION in found["metadata"].get("annotations", {})) is evicts


async def test_what_anyone_could_read(server: Embedded) -> None:
    """Interceptors, of a pod whose name is known; its labels too where the UID is."""
    hook, _ = beside(server, bridge=True)
    stored = server.stored(PODS, "p")
    assert stored is not None
    by_name = await hook.ask(
        "/validate/evictions", forged(PODS, stored, "CREATE", "eviction", ADMIN_INFO, {})
    )
    assert INTERCEPTOR in by_name.refusal["message"]
    asked = forged(EVICTIONREQUESTS, request_for(stored), "CREATE", "", ADMIN_INFO, {})
    made = (await hook.ask(MUTATE, asked)).applied(asked["request"]["object"])
    assert made["metadata"]["labels"] == {"app": "db"}
    assert [one["name"] for one in made["spec"]["interceptors"]] == [INTERCEPTOR]
