"""Addresses, queries and patches that make no sense: a fitting refusal, and nothing is written."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pytest
from multidict import CIMultiDict, MultiDict

from support.embedded import ADMIN, Answer, Embedded, a_pod, embedded
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, PODS
from vacate.wire.message import Request

pytestmark = pytest.mark.unit

PODS_PATH = "/api/v1/namespaces/d/pods"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.INFO)
    yield
    assert not caplog.records


async def refused(server: Embedded, method: str, path: str, body: Any = None, **more: Any) -> Answer:
    before = server.store.revision
    answer = await server.ask(method, path, body, **more)
    assert answer.code >= 400, answer
    assert answer.body["kind"] == "Status"
    assert answer.body["code"] == answer.code
    assert server.store.revision == before
    return answer


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1//pods",
        "/api//v1/pods",
        "/apis//v1/pods",
        "/apis/apps//deployments",
        "/api/v1/namespaces//pods",
        "/api/v1/namespaces/d//pods",
        "/api/v1/namespaces/d/pods/p/status/x",
        "/api/v1/namespaces/d/pods/p/nothing",
        "/api/v1/namespaces/d/pods/../pods",
        "/api/v1/pods/p",
        "/api/v1/watch/pods",
        "/api/v1/proxy/pods/p",
        "/api/v2/pods",
        "/api/v1/unknown",
        "/apis/apps/v1/pods",
        "/api/v1/deployments",
        "/api/v1/namespaces/d/nodes",
        "/api/v1/namespaces/d/nodes/n",
        "/api/v1/pods/p/eviction",
        "/api/v1/nodes/p/scale",
        "/api/v1/namespaces/d/pods/p/" + "/x" * 500,
        "/api/v1/" + "x" * 20_000,
        "/api/v1/\0",
        "/api/v1/ü",
    ],
)
async def test_where_nothing_is_there_is_nothing(path: str) -> None:
    async with embedded() as server:
        await server.seed(PODS, a_pod())
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            body = {"metadata": {"name": "p"}}
            answer = await refused(server, method, path, body, content_type="application/json")
            assert (answer.code, answer.body["reason"]) == (404, "NotFound"), method


@pytest.mark.parametrize("path", ["/", "", "//", "/nowhere", "/apis/nobody.io/v1/things", "/../etc/passwd"])
async def test_where_no_api_is_the_answer_is_that_of_the_real_server(path: str) -> None:
    async with embedded() as server:
        for method in ("GET", "POST", "DELETE", "TRACE"):
            response = await server.server.handle(Request(method, path, peer=ADMIN))
            assert (response.status, response.body) == (404, b"404 page not found\n"), method


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", PODS_PATH),
        ("PATCH", PODS_PATH),
        ("POST", f"{PODS_PATH}/p"),
        ("TRACE", PODS_PATH),
        ("FOO", PODS_PATH),
        ("CONNECT", PODS_PATH),
        ("POST", "/api/v1/pods"),
        ("DELETE", "/api/v1/pods"),
        ("GET", f"{PODS_PATH}/p/eviction"),
        ("DELETE", f"{PODS_PATH}/p/status"),
        ("POST", f"{PODS_PATH}/p/status"),
        ("HEAD", PODS_PATH),
        ("POST", "/version"),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        ("OPTIONS", PODS_PATH),
        ("DELETE", "/metrics"),
    ],
)
async def test_methods_that_an_address_does_not_take(method: str, path: str) -> None:
    async with embedded() as server:
        await server.seed(PODS, a_pod())
        answer = await refused(server, method, path, {"metadata": {"name": "p"}})
        assert (answer.code, answer.body["reason"]) == (405, "MethodNotAllowed")


def token(**parts: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(parts)).decode().rstrip("=")


GOOD_TOKEN = {"v": "meta.k8s.io/v1", "rv": 1, "start": "p\0"}
BAD_QUERIES: list[tuple[dict[str, str], int]] = [
    *[
        ({"labelSelector": text}, 400)
        for text in ("a in", "a in (", "=", ",", "a=b,,c", "!", "a==b==c", "a b", "-=x")
    ],
    *[
        ({"labelSelector": text}, 400)
        for text in ("a=" + "x" * 64, "x" * 64, "a/b/c=d", "é=1", "a=é", "a>x", "(" * 5000)
    ],
    *[
        ({"fieldSelector": text}, 400)
        for text in ("nope=1", "metadata.name", "=", "a=b", "metadata.name=a\\", "x" * 9000)
    ],
    *[({"limit": text}, 400) for text in ("x", "", "1.5", "²", " 1", "1_0", "9" * 30, "9" * 9000, "0x1")],
    *[({"timeoutSeconds": text}, 400) for text in ("x", "", "1.5", "9" * 30)],
    *[({"resourceVersion": text}, 400) for text in ("x", "-1", "1.5", "²", "9" * 30, "9" * 9000)],
    *[({"continue": text}, 400) for text in ("x", "!", "AAAA", token(), "bnVsbA", "W10", "é", "A" * 9000)],
    *[
        ({"continue": token(**{**GOOD_TOKEN, **change})}, 400)
        for change in (
            {"rv": 0},
            {"rv": -2},
            {"rv": "1"},
            {"rv": 10**6},
            {"rv": True},
            {"rv": None},
            {"rv": 1.5},
            {"v": "x"},
            {"v": None},
            {"start": ""},
            {"start": "../x\0"},
            {"start": "a/b/c\0"},
            {"start": 1},
            {"start": None},
            {"start": "/\0"},
        )
    ],
    ({"continue": token(**GOOD_TOKEN), "resourceVersion": "1"}, 400),
    ({"resourceVersionMatch": "Exact"}, 422),
    ({"resourceVersionMatch": "x", "resourceVersion": "1"}, 422),
    ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 422),
    ({"sendInitialEvents": "true"}, 422),
]


@pytest.mark.parametrize(("query", "code"), BAD_QUERIES, ids=lambda value: str(value)[:40])
async def test_lists_that_cannot_be_meant(query: Mapping[str, str], code: int) -> None:
    async with embedded() as server:
        await server.seed(PODS, a_pod())
        answer = await refused(server, "GET", PODS_PATH, query=query)
        assert answer.code == code, answer
        deletion = await refused(server, "DELETE", PODS_PATH, query=query)
        assert deletion.code == code


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"resourceVersion": "x"}, 500),
        ({"resourceVersion": "-1"}, 500),
        ({"labelSelector": "a in"}, 400),
        ({"fieldSelector": "nope=1"}, 400),
        ({"timeoutSeconds": "x"}, 400),
        ({"sendInitialEvents": "true"}, 422),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "1"}, 422),
    ],
)
async def test_watches_that_cannot_be_meant(query: dict[str, str], code: int) -> None:
    async with embedded() as server:
        answer = await refused(server, "GET", PODS_PATH, query={"watch": "1", **query})
        assert answer.code == code, answer  # 500 is what the real server's storage answers


@pytest.mark.parametrize("seconds", ["-1", "-9223372036854775808", "9223372036854775807", "10000000000"])
async def test_watches_of_absurd_length_open_and_close(seconds: str) -> None:
    async with embedded() as server:
        request = Request(
            "GET", PODS_PATH, MultiDict(watch="1", timeoutSeconds=seconds), CIMultiDict(), b"", ADMIN
        )
        response = await server.server.handle(request)
        assert response.status == 200
        assert not isinstance(response.body, bytes)
        await response.body.aclose()
        assert server.store.watchers == 0


@pytest.mark.parametrize("seconds", ["9223372036854775807", "10000000000"])
async def test_watches_of_more_than_292_years_do_not_end_at_once(seconds: str) -> None:
    async with embedded() as server:
        await server.seed(PODS, a_pod("p"))
        query = MultiDict(watch="1", timeoutSeconds=seconds)
        response = await server.server.handle(Request("GET", PODS_PATH, query, CIMultiDict(), b"", ADMIN))
        assert not isinstance(response.body, bytes)
        frames = aiter(response.body)
        assert b"ADDED" in await anext(frames)
        await server.seed(PODS, a_pod("q"))
        assert b'"q"' in await asyncio.wait_for(anext(frames), 10)
        await response.body.aclose()


async def test_the_first_of_repeated_parameters_counts() -> None:
    async with embedded() as server:
        await server.seed(PODS, a_pod("p"))
        query = MultiDict(
            [("limit", "1"), ("limit", "x"), ("labelSelector", "app=web"), ("labelSelector", "a in (")]
        )
        response = await server.server.handle(Request("GET", PODS_PATH, query, CIMultiDict(), b"", ADMIN))
        assert response.status == 200


async def test_ten_thousand_operations_are_the_most() -> None:
    test = {"op": "test", "path": "/metadata/name", "value": "p"}
    async with embedded() as server:
        await server.seed(CONFIGMAPS, {"metadata": {"name": "p", "namespace": "d", "uid": "u"}})
        path = "/api/v1/namespaces/d/configmaps/p"
        assert (await server.ask("PATCH", path, [test] * 10_000, content_type=JSON_PATCH)).code == 200
        answer = await refused(server, "PATCH", path, [test] * 10_001, content_type=JSON_PATCH)
        assert answer.code == 413
        assert answer.message == (
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
        )


async def test_copies_of_copies_do_not_grow_without_end() -> None:
    seed = {"op": "add", "path": "/metadata/annotations", "value": {"a": "x" * 1000}}
    double = [
        {"op": "copy", "from": "/metadata/annotations", "path": f"/metadata/annotations/{n}"}
        for n in range(40)
    ]
    async with embedded() as server:
        await server.seed(PODS, a_pod())
        answer = await refused(server, "PATCH", f"{PODS_PATH}/p", [seed, *double], content_type=JSON_PATCH)
        assert answer.code == 422


NO_PATCHES: dict[tuple[str, int], list[Any]] = {
    (JSON_PATCH, 400): [{}, 1, "x", [1], ["x"], [{"op": 1}], [{"op": "add", "path": 1}]],
    (JSON_PATCH, 422): [
        [{}],
        [{"op": "x", "path": "/a"}],
        [{"op": "remove", "path": "/nope"}],
        [{"op": "move", "from": "/nope", "path": "/a"}],
        [{"op": "test", "path": "/metadata/name", "value": "q"}],
        [{"op": "add", "path": "/a/b/c", "value": 1}],
        [{"op": "add", "path": "", "value": 1}],
        [{"op": "replace", "path": "", "value": []}],
        [{"op": "remove", "path": "/spec/containers/99"}],
        [{"op": "add", "path": "/spec/containers/x", "value": 1}],
        [{"op": "replace", "path": "/spec", "value": 1}],
    ],
    (MERGE, 400): [[], 1, "x", True, {"metadata": {"name": "q"}}, {"metadata": {"namespace": "e"}}],
    (MERGE, 422): [{"spec": 1}, {"kind": "Node"}, {"spec": {"containers": {}}}, {"metadata": []}],
    (STRATEGIC, 400): [[], 1, "x", {"metadata": {"name": "q"}}],
    (STRATEGIC, 422): [{"spec": 1}],
    **{(form, 415): [{}] for form in ("application/apply-patch+yaml", "application/json", "", ";", "x")},
}
PATCHES = [(form, patch, code) for (form, code), patches in NO_PATCHES.items() for patch in patches]


@pytest.mark.parametrize(("form", "patch", "code"), PATCHES)
async def test_patches_that_make_no_sense(form: str, patch: Any, code: int) -> None:
    async with embedded() as server:
        await server.seed(PODS, a_pod())
        for path in (f"{PODS_PATH}/p", f"{PODS_PATH}/p/status"):
            answer = await refused(server, "PATCH", path, patch, content_type=form)
            assert answer.code == code, answer


@pytest.mark.parametrize("form", [MERGE, STRATEGIC])
@pytest.mark.parametrize(
    "patch",
    [{"spec": {"replicas": "x"}}, {"spec": {"replicas": -1}}, {"spec": {"replicas": 2**40}}, {"spec": []}],
)
async def test_scales_that_make_no_sense(form: str, patch: Any) -> None:
    async with embedded() as server:
        meta = {"name": "p", "namespace": "d", "uid": "u"}
        selector = {"matchLabels": {"a": "b"}}
        await server.seed(DEPLOYMENTS, {"metadata": meta, "spec": {"replicas": 1, "selector": selector}})
        answer = await refused(
            server, "PATCH", "/apis/apps/v1/namespaces/d/deployments/p/scale", patch, content_type=form
        )
        assert answer.code in (400, 422)
