"""Those without rights: refused on every address, in the same words whether or not anything is there."""

from __future__ import annotations

import orjson
import pytest
from multidict import CIMultiDict, MultiDict

from support.embedded import Embedded, a_pod, embedded
from support.hostile.samples import sample_of
from vacate.api.kinds import PODS, Kind
from vacate.embedded.bootstrap import bootstrap_objects
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.wire.message import Peer, Request, Response

pytestmark = pytest.mark.unit

MALLORY = Peer("mallory")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")
# What everybody who is known may ask about, and about oneself alone.
SELF_REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")


async def populate(server: Embedded) -> None:
    for kind, obj in bootstrap_objects():
        await server.seed(kind, obj)
    await server.seed(PODS, a_pod())
    for kind in SERVED_KINDS:
        if kind.stored and kind != PODS:
            obj = sample_of(kind)
            place = {"namespace": "d"} if kind.namespaced else {}
            obj["metadata"] = {**obj["metadata"], **place, "uid": f"uid-{kind.plural}"}
            await server.seed(kind, obj)


def addresses(kind: Kind, name: str) -> list[str]:
    collection = kind.collection_path("d" if kind.namespaced else "")
    deeper = [f"{collection}/{name}/{sub.name}" for sub in kind.subresources]
    return [
        collection,
        kind.collection_path(""),
        f"{collection}/{name}",
        *deeper,
        f"{collection}/{name}/nothing",
    ]


async def ask(server: Embedded, method: str, path: str, peer: Peer | None, **query: str) -> Response:
    kind = PODS
    headers = CIMultiDict({"Content-Type": "application/json"})
    body = orjson.dumps(sample_of(kind)) if method in ("POST", "PUT", "PATCH") else b""
    return await server.server.handle(Request(method, path, MultiDict(query), headers, body, peer))


@pytest.mark.thorough(beyond=8)
@pytest.mark.parametrize("peer", [None, MALLORY], ids=["anonymous", "unprivileged"])
@pytest.mark.parametrize("kind", SERVED_KINDS, ids=lambda kind: kind.plural)
async def test_every_verb_on_every_address_is_forbidden(kind: Kind, peer: Peer | None) -> None:
    if kind.plural in SELF_REVIEWS and peer is not None:
        return
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        for method in METHODS:
            answers = [
                [forbidden(await ask(server, method, path, peer), name) for path in addresses(kind, name)]
                for name in ("p", "missing")
            ]
            assert answers[0] == answers[1], "an answer tells whether the object is there"
        forbidden(await ask(server, "GET", addresses(kind, "p")[0], peer, watch="1"), "")
        assert server.store.revision == before


def forbidden(response: Response, name: str) -> str:
    assert response.status == 403, response
    assert isinstance(response.body, bytes)
    status = orjson.loads(response.body)
    assert status["kind"] == "Status"
    assert status["reason"] == "Forbidden"
    message: str = status["message"]
    return message.replace(f'"{name}"', "NAME")


@pytest.mark.parametrize(
    "header", ["Bearer nonsense", "bearer x", "Bearer \udcff", "Bearer " + "x" * 20_000, "Bearer a b c"]
)
async def test_unknown_tokens_are_unauthorised_before_anything_else(header: str) -> None:
    async with embedded() as server:
        await populate(server)
        for path in ("/livez", "/version", "/api/v1/pods", "/nowhere", "/api/v1/namespaces/d/pods/p"):
            request = Request("GET", path, headers=CIMultiDict({"Authorization": header}))
            response = await server.server.handle(request)
            assert response.status == 401
            assert isinstance(response.body, bytes)
            status = orjson.loads(response.body)
            assert (status["reason"], status["message"]) == ("Unauthorized", "Unauthorized")


@pytest.mark.parametrize("header", ["Basic bWU6bWU=", "Bearer", "Bearer ", "", "Digest x", "Bearer  x"])
async def test_what_is_no_token_makes_one_nobody(header: str) -> None:
    async with embedded() as server:
        await populate(server)
        headers = CIMultiDict({"Authorization": header})
        assert (await server.server.handle(Request("GET", "/livez", headers=headers))).status == 200
        assert (await server.server.handle(Request("GET", "/api/v1/pods", headers=headers))).status == 403


@pytest.mark.thorough(beyond=7)
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ([("Impersonate-User", "admin")], 403),
        ([("Impersonate-User", "system:serviceaccount:d:x")], 403),
        ([("Impersonate-User", "mallory"), ("Impersonate-Group", "system:masters")], 403),
        ([("Impersonate-Group", "system:masters")], 400),
        ([("Impersonate-Uid", "0")], 400),
        ([("Impersonate-Extra-a", "b")], 400),
        ([("Impersonate-User", "\udcff\udcfe")], 403),
        ([("Impersonate-User", "x" * 20_000)], 403),
        ([("Impersonate-User", "a"), *[("Impersonate-Group", f"g{n}") for n in range(100)]], 403),
        ([("Impersonate-User", "a"), ("Impersonate-Extra-%zz", "b")], 403),
    ],
)
async def test_no_user_becomes_another_by_a_header(headers: list[tuple[str, str]], code: int) -> None:
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        for method, path in (
            ("GET", "/api/v1/pods"),
            ("DELETE", "/api/v1/namespaces/d/pods/p"),
            ("GET", "/livez"),
        ):
            response = await server.server.handle(
                Request(method, path, headers=CIMultiDict(headers), peer=MALLORY)
            )
            assert response.status == code
            assert isinstance(response.body, bytes)
            assert orjson.loads(response.body)["kind"] == "Status"
        assert server.store.revision == before
