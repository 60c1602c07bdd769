"""Bodies that are no objects, or not the right ones: refused in one word, and nothing is written."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import orjson
import pytest

from support.embedded import Answer, Embedded, a_pod, embedded
from support.hostile.work import MAX_CALLS, counted
from vacate.api.kinds import CONFIGMAPS, PODS
from vacate.api.objects import Obj

pytestmark = pytest.mark.unit

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MAPS = "/api/v1/namespaces/d/configmaps"
TARGETS = [
    ("POST", MAPS, JSON),
    ("PUT", f"{MAPS}/c", JSON),
    ("DELETE", f"{MAPS}/c", JSON),
    ("DELETE", MAPS, JSON),
    ("POST", "/api/v1/namespaces/d/pods/p/eviction", JSON),
    ("POST", "/api/v1/namespaces/d/pods/p/binding", JSON),
    ("PUT", "/api/v1/namespaces/d/pods/p/status", JSON),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", JSON),
    ("PATCH", f"{MAPS}/c", JSON_PATCH),
    ("PATCH", f"{MAPS}/c", MERGE),
    ("PATCH", f"{MAPS}/c", STRATEGIC),
]


def nested(levels: int, opening: bytes = b'{"a":', closing: bytes = b"}") -> bytes:
    return opening * levels + b"1" + closing * levels


NO_JSON = {
    "blanks": b"   ",
    "cut off": b'{"metadata":{"name":"c"',
    "NaN": b'{"metadata":{"name":"c"},"a":NaN}',
    "Infinity": b"-Infinity",
    "byte order mark": b'\xef\xbb\xbf{"metadata":{"name":"c"}}',
    "UTF-16": '{"metadata":{"name":"c"}}'.encode("utf-16"),
    "raw NUL": b'{"metadata":{"name":"a\0b"}}',
    "trailing text": b'{"metadata":{"name":"c"}} x',
    "two documents": b'{"metadata":{"name":"c"}}{}',
    "single quotes": b"{'metadata':{}}",
    "a comment": b'{"metadata":{}} // x',
    "YAML": b"metadata:\n  name: c\n",
    "a number": b"1",
    "a text": b'"x"',
    "a truth": b"true",
    "100000 levels": nested(100_000),
    "100000 lists": nested(100_000, b"[", b"]"),
    "a million open lists": b"[" * 1_000_000,
    "bytes": bytes(range(256)),
}


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.INFO)
    yield
    assert not caplog.records


async def populate(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(
        CONFIGMAPS, {"metadata": {"name": "c", "namespace": "d", "uid": "u"}, "data": {"a": "b"}}
    )


def check_refused(answer: Answer, *codes: int) -> None:
    assert answer.code in codes, answer
    assert answer.body["kind"] == "Status"
    assert answer.body["status"] == "Failure"
    assert answer.body["code"] == answer.code
    assert answer.message


@pytest.mark.parametrize("name", NO_JSON)
async def test_what_is_no_json_object_is_a_bad_request_everywhere(name: str) -> None:
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        for method, path, content_type in TARGETS:
            answer = await server.ask(method, path, NO_JSON[name], content_type=content_type)
            check_refused(answer, 400)
            assert answer.body["reason"] == "BadRequest"
        assert server.store.revision == before


@pytest.mark.parametrize(("method", "path", "content_type"), TARGETS)
async def test_nothing_at_all_is_refused_except_where_options_may_be_missing(
    method: str, path: str, content_type: str
) -> None:
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        answer = await server.ask(method, path, b"", content_type=content_type)
        if method == "DELETE":
            assert answer.code == 200
            return
        check_refused(answer, 400)
        assert server.store.revision == before


@pytest.mark.parametrize("levels", [101, 1000])
@pytest.mark.parametrize(("opening", "closing"), [(b'{"a":', b"}"), (b"[", b"]")])
async def test_what_nests_too_deeply_is_refused_everywhere(
    levels: int, opening: bytes, closing: bytes
) -> None:
    deep = nested(levels, opening, closing)
    bodies = {
        JSON: b'{"metadata":{"name":"c"},"x":' + deep + b"}",
        JSON_PATCH: b'[{"op":"add","path":"/x","value":' + deep + b"}]",
    }
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        for method, path, content_type in TARGETS:
            body = bodies.get(content_type, bodies[JSON])
            check_refused(await server.ask(method, path, body, content_type=content_type), 400, 422)
        assert server.store.revision == before


async def test_a_hundred_levels_survive() -> None:
    async with embedded() as server:
        body = b'{"metadata":{"name":"n"},"x":' + nested(98) + b"}"
        assert (await server.ask("POST", MAPS, body)).code == 201
        assert (await server.ask("GET", f"{MAPS}/n")).code == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata":{"name":"n","annotations":{"a":"\\ud800"}}}',
        b'{"metadata":{"name":"n","annotations":{"a":"\xff"}}}',
    ],
)
async def test_broken_characters_are_replaced_as_go_does(body: bytes) -> None:
    async with embedded() as server:
        answer = await server.ask("POST", MAPS, body)
        assert answer.code == 201
        assert answer.body["metadata"]["annotations"]["a"] == "\ufffd"


async def test_the_last_of_two_equal_keys_counts() -> None:
    async with embedded() as server:
        answer = await server.ask("POST", MAPS, b'{"metadata":{"name":"x"},"metadata":{"name":"y"}}')
        assert answer.body["metadata"]["name"] == "y"


@pytest.mark.parametrize("number", [b"1e400", b"9" * 400, b"99999999999999999999999", b"1.5", b"-1e3"])
async def test_numbers_beyond_their_field_are_refused(number: bytes) -> None:
    async with embedded() as server:
        before = server.store.revision
        body = (
            b'{"metadata":{"name":"q"},"spec":{"priority":'
            + number
            + b',"containers":[{"name":"c","image":"i"}]}}'
        )
        check_refused(await server.ask("POST", "/api/v1/namespaces/d/pods", body), 400)
        assert server.store.revision == before


@pytest.mark.parametrize("seconds", [2**63 - 1, 2**40, 10**15, -1, -(2**63)])
async def test_grace_beyond_the_calendar_is_no_failure(seconds: int) -> None:
    async with embedded() as server:
        await populate(server)
        answer = await server.ask("DELETE", "/api/v1/namespaces/d/pods/p", {"gracePeriodSeconds": seconds})
        assert answer.code == 200
        assert answer.body["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "Secret", "apiVersion": "v1"},
        {"kind": "ConfigMap", "apiVersion": "v2"},
        {"kind": "ConfigMap", "apiVersion": "/"},
        {"kind": "ConfigMap", "apiVersion": "a/b/c"},
        {"kind": 1},
        {"apiVersion": []},
        {"metadata": 1},
        {"metadata": []},
        {"metadata": {"name": 1}},
        {"metadata": {"name": "c", "labels": []}},
        {"metadata": {"name": "c", "labels": {"a": 1}}},
        {"metadata": {"name": "c", "ownerReferences": {}}},
        {"metadata": {"name": "c"}, "data": []},
        {"metadata": {"name": "c"}, "data": {"a": {}}},
        {"metadata": {"name": "c"}, "binaryData": {"a": "!"}},
    ],
)
async def test_wrong_kinds_and_types_are_bad_requests(body: Obj) -> None:
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        check_refused(await server.ask("POST", MAPS, body), 400)
        check_refused(await server.ask("PUT", f"{MAPS}/c", body), 400)
        assert server.store.revision == before


NAMES = ["..", ".", "a/b", "a%2fb", "a\0b", "ü", "A", "-a", "a_b", "x" * 300, " ", "a b", "\n", "a\\b", "☃"]


@pytest.mark.parametrize("name", NAMES)
async def test_invalid_names_are_refused_wherever_they_stand(name: str) -> None:
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        for meta in ({"name": name}, {"name": "n", "namespace": name}, {"generateName": name + "!"}):
            check_refused(await server.ask("POST", MAPS, {"metadata": meta}), 400, 422)
        body = {"metadata": {"name": name}}
        for method, wanted in (("GET", None), ("PUT", body), ("DELETE", None), ("PATCH", {"data": {}})):
            answer = await server.ask(
                method, f"{MAPS}/{name}", wanted, content_type=MERGE if method == "PATCH" else JSON
            )
            check_refused(answer, 404, 422)
        check_refused(
            await server.ask("POST", f"/api/v1/namespaces/{name}/configmaps", {"metadata": {"name": "n"}}),
            404,
            405,
        )
        check_refused(await server.ask("POST", "/api/v1/namespaces", body), 422)
        assert server.store.revision == before


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/xml",
        ";",
        "json",
        "application/json, text/plain",
        "/",
        "\udcff",
        "application/yaml",
    ],
)
async def test_other_content_types_are_unsupported(content_type: str) -> None:
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        for method, path, _ in TARGETS:
            answer = await server.ask(method, path, b'{"metadata":{"name":"n"}}', content_type=content_type)
            check_refused(answer, 415)
            assert answer.body["reason"] == "UnsupportedMediaType"
        assert server.store.revision == before


PROTOBUFS = {
    "empty": b"",
    "no magic": b"\x0a\x02v1",
    "magic only": b"k8s\0",
    "cut off": b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigM",
    "length beyond the end": b"k8s\0\x0a\xff\xff\xff\xff\x0f",
    "endless number": b"k8s\0" + b"\xff" * 40,
    "field zero": b"k8s\0\x00\x00",
    "a group": b"k8s\0\x0b\x0c",
    "unknown kind": b"k8s\0\x0a\x0a\x0a\x02v1\x12\x04Nope",
    "no UTF-8": b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x06\x0a\x04\x0a\x02\xff\xfe",
    "a number for a message": b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x02\x08\x01",
}


@pytest.mark.parametrize("name", PROTOBUFS)
async def test_broken_protobuf_is_a_bad_request(name: str) -> None:
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        for method, path, content_type in TARGETS:
            if content_type == JSON and (PROTOBUFS[name] or method != "DELETE"):
                answer = await server.ask(method, path, PROTOBUFS[name], content_type=PROTOBUF)
                check_refused(answer, 400)
        assert server.store.revision == before


async def test_a_large_body_without_sense_is_refused_with_little_work() -> None:
    """The words of the refusal are not worth a stand-still of the server."""
    async with embedded() as server:
        body = orjson.dumps([1] * 1_500_000)[:-1]
        with counted() as work:
            answer = await server.ask("POST", MAPS, body)
        assert work.calls <= MAX_CALLS
        check_refused(answer, 400)


async def test_a_refusal_is_not_many_times_longer_than_what_it_refuses() -> None:
    """Each of these owners is a error that shows all of them: together hundreds of megabytes."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "o", "controller": True}
    owners = [{**owner, "uid": str(number)} for number in range(2000)]
    async with embedded() as server:
        with counted() as work:
            answer = await server.ask("POST", MAPS, {"metadata": {"name": "n", "ownerReferences": owners}})
        assert work.calls <= MAX_CALLS
        check_refused(answer, 422)
        assert len(orjson.dumps(answer.body)) < 10_000_000
