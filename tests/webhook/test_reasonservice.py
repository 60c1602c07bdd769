"""A pod gets its own reason, by a token that the cluster says is of that pod, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from multidict import CIMultiDict, MultiDict

from support.embedded import ADMIN, Embedded, embedded
from vacate.api.kinds import PODS, TOKENREVIEWS
from vacate.api.objects import Obj
from vacate.api.terminationreason import ANNOTATION, AUDIENCE
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import TransportError
from vacate.testing import pod
from vacate.webhook.reasonservice import ReasonService
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

TOKEN = "header.claims.signature"


class WithTokens(InProcessTransport):
    """Answers TokenReviews as kube-apiserver does, which the embedded server does not have."""

    status: Obj | None = None

    async def send(self, request: Request) -> Response:
        if request.path == TOKENREVIEWS.collection_path():
            if self.status is None:
                raise TransportError("away")
            asked = orjson.loads(request.body)["spec"]
            assert asked == {"token": TOKEN, "audiences": [AUDIENCE]}
            return Response(201, orjson.dumps({"metadata": {}, "status": self.status}))
        return await super().send(request)


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as server:
        made = pod("p", namespace="d")
        made["metadata"] |= {"annotations": {ANNOTATION: "resolve\nissue"}, "finalizers": ["vacate.dev/test"]}
        await server.ask("POST", PODS.collection_path("d"), made)
        yield server


def status(server: Embedded, **changed: Any) -> Obj:
    found = server.stored(PODS, "p")
    assert found is not None
    extra = {
        "authentication.kubernetes.io/pod-name": ["p"],
        "authentication.kubernetes.io/pod-uid": [found["metadata"]["uid"]],
    }
    user = {"username": "system:serviceaccount:d:default", "extra": extra}
    return {"authenticated": True, "audiences": [AUDIENCE], "user": {**user, **changed}}


async def ask(
    server: Embedded, token_status: Obj | None, *, token: str = f"Bearer {TOKEN}", **more: str
) -> Response:
    transport = WithTokens(server.server, ADMIN)
    transport.status = token_status
    service = ReasonService(Client(transport))
    headers = CIMultiDict({"Authorization": token} if token else {})
    return await service.handle(
        Request(more.get("method", "GET"), more.get("path", "/reason"), MultiDict(), headers, b"")
    )


async def test_the_reason_of_a_pod_that_is_being_deleted(server: Embedded) -> None:
    answer = await ask(server, status(server))
    assert (answer.status, answer.body) == (200, b"")  # a hook also runs before a restart
    await server.ask("DELETE", PODS.object_path("p", "d"))
    answer = await ask(server, status(server))
    assert (answer.status, answer.body) == (200, b"resolve issue")


async def test_a_caller_that_is_no_pod_learns_no_reason(server: Embedded) -> None:
    await server.ask("DELETE", PODS.object_path("p", "d"))
    good = status(server)
    extra, prefix = good["user"]["extra"], "authentication.kubernetes.io/pod-"
    for token_status, code in [
        ({**good, "authenticated": False}, 401),
        ({**good, "audiences": ["https://kubernetes.default.svc"]}, 401),
        ({**good, "audiences": None}, 401),
        (status(server, extra={}), 401),
        (status(server, username="system:node:n"), 401),
        (status(server, username="system:serviceaccount:other:default"), 404),
        (status(server, extra=extra | {f"{prefix}uid": ["x"]}), 404),
        (
            status(server, extra=extra | {f"{prefix}name": ["a/b"]}),
            404,
        ),
        (None, 503),
    ]:
        answer = await ask(server, token_status)
        assert answer.status == code, (token_status, answer)
        assert b"resolve" not in bytes(answer.body)  # type: ignore[arg-type]  # never a stream


async def test_what_is_no_question(server: Embedded) -> None:
    for token in ("", "Basic a", "Bearer nonsense", f"Bearer {'a' * 20_000}.b.c"):
        assert (await ask(server, status(server), token=token)).status == 401
    assert (await ask(server, status(server), path="/reason/p")).status == 404
    assert (await ask(server, status(server), method="POST")).status == 405
