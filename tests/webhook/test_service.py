"""The HTTP face of the webhook: whatever is sent to it gets an answer, and never a traceback."""

from __future__ import annotations

import asyncio
import copy
import math
import threading
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict, MultiDict

from embedded.registry.given import NOW, RUNNING, a, stored
from support.effort import examples
from support.embedded import StillClock, embedded, namespace
from support.reviews import MUTATE, MUTATE_PODS, VALIDATE, VALIDATE_PODS, Hook, ReviewAnswer, review
from vacate.admission.pods.registrationrules import read_rules
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import NAMESPACES, PODS
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.errors import TransportError
from vacate.webhook import pods
from vacate.webhook.reviewer import PATHS, WebhookConfig
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

RULES = (
    "rules: [{namespaceSelector: {}, podSelector: {}, interceptors: [{name: a.example.com, priority: 1}]}]"
)


def the_request() -> Obj:
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, **a(KIND)}


class Broken:
    """A cluster that does not answer, or answers like this."""

    def __init__(self, answer: Response | Exception | None) -> None:
        self._answer = answer

    async def send(self, _request: Request) -> Response:
        if self._answer is None:
            await asyncio.get_running_loop().create_future()
        if isinstance(self._answer, Exception):
            raise self._answer
        assert self._answer is not None
        return self._answer

    async def aclose(self) -> None:
        """Nothing is held."""


def beside(answer: Response | Exception | None) -> Hook:
    return Hook(Client(Broken(answer)), StillClock())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is not JSON"),
        (b"{", "truncated"),
        (b"[]", "Expected `object`"),
        (b"null", "Expected `object`"),
        (b"{}", "missing required field"),
        (b'{"apiVersion":"v1","kind":"AdmissionReview"}', "request"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
async def test_malformed_bodies(body: bytes, message: str) -> None:
    reply = await beside(None).send(MUTATE, body)
    assert reply.code == 400
    assert reply.body["reason"] == "BadRequest"
    assert message in reply.body["message"]


async def test_other_versions_and_kinds_of_review() -> None:
    for change in ({"apiVersion": "admission.k8s.io/v1beta1"}, {"kind": "TokenReview"}):
        reply = await beside(None).ask(MUTATE, {**review("CREATE", new=the_request()), **change})
        assert reply.code == 400
        assert "only AdmissionReview of admission.k8s.io/v1" in reply.body["message"]


async def test_a_user_larger_than_any_is() -> None:
    sent = review("CREATE", new=the_request())
    sent["request"]["userInfo"] = {"username": "mallory", "groups": ["a" * 100] * 3_000}
    reply = await beside(None).ask(MUTATE, sent)
    assert reply.code == 400
    assert "the userInfo of the review has more than 262144 bytes" in reply.body["message"]


async def test_a_review_of_another_kind() -> None:
    reply = await beside(None).ask(MUTATE, review("CREATE", new=the_request(), kind=PODS))
    assert reply.code == 400
    assert "and the review is about pods" in reply.body["message"]


async def test_content_type_method_and_path() -> None:
    hook = beside(None)
    body = orjson.dumps(review("CREATE", new=the_request()))
    for content_type in ("", "text/plain", "application/yaml"):
        assert (await hook.send(MUTATE, body, content_type)).code == 415
    assert (await hook.send("/", body)).code == 404
    get = await hook.service.handle(Request("GET", MUTATE, MultiDict(), CIMultiDict(), b""))
    assert get.status == 405


async def test_a_review_without_its_object() -> None:
    for operation, path in (("CREATE", MUTATE), ("UPDATE", MUTATE), ("DELETE", VALIDATE)):
        reply = await beside(None).ask(path, review(operation))
        assert reply.refusal["code"] == 400


@pytest.mark.parametrize(
    "answer",
    [
        TransportError("connection refused"),
        Response(403, orjson.dumps({"kind": "Status", "message": "no", "reason": "Forbidden"})),
        Response(429, b"busy"),
        Response(500, b"\xff"),
    ],
)
async def test_a_failed_lookup_is_503(answer: Any) -> None:
    """No verdict: the failure policy decides, and it says closed."""
    reply = await beside(answer).ask(MUTATE, review("CREATE", new=the_request()))
    assert reply.code == 503


async def test_a_cluster_that_takes_too_long() -> None:
    hook = beside(None)
    hook.service._answer_seconds = 0.01
    reply = await hook.ask(MUTATE, review("CREATE", new=the_request()))
    assert reply.code == 503
    assert "in time" in reply.body["message"]


async def test_an_api_server_that_no_longer_waits() -> None:
    """It says in the query how long it waits: after that nobody hears the answer."""
    hook = beside(None)
    hook.service._answer_seconds = math.inf
    body = orjson.dumps(review("CREATE", new=the_request()))
    headers = CIMultiDict({"Content-Type": "application/json"})
    reply = await hook.service.handle(Request("POST", MUTATE, MultiDict({"timeout": "1s"}), headers, body))
    assert reply.status == 503


async def test_status_needs_no_cluster() -> None:
    old = {"apiVersion": KIND.api_version, "kind": KIND.kind, **stored(KIND)}
    new = copy.deepcopy(old)
    new["status"]["message"] = "well"
    hook = beside(TransportError("down"))
    assert (await hook.ask(MUTATE, review("UPDATE", new=new, old=old, subresource="status"))).allowed


async def test_counted() -> None:
    hook = beside(TransportError("down"))
    await hook.send(MUTATE, b"")
    await hook.ask(MUTATE, review("CREATE", new=the_request()))
    await hook.ask(VALIDATE, review("CONNECT", new=the_request()))
    await hook.ask(VALIDATE, review("DELETE"))

    def count(path: str, verdict: str) -> float | None:
        labels = {"path": path, "verdict": verdict}
        return hook.metrics.registry.get_sample_value("vacate_webhook_requests_total", labels)

    assert [count(MUTATE, one) for one in ("malformed", "failed")] == [1, 1]
    assert [count(VALIDATE, one) for one in ("allowed", "refused")] == [1, 1]


# --- whatever comes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path in a value."""
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places(item, (*path, index))
    return found


@st.composite
def spoilt_reviews(draw: st.DrawFn) -> tuple[str, Any]:
    """A good review in which something is replaced by anything."""
    path = draw(st.sampled_from(sorted(PATHS)))
    kind = PODS if path.endswith("pods") else KIND
    old = {"apiVersion": KIND.api_version, "kind": KIND.kind, **stored(kind)}
    operation = draw(st.sampled_from(["CREATE", "UPDATE", "DELETE"]))
    subresource = draw(st.sampled_from(["", "status"]))
    value: Any = review(operation, new=stored(kind), old=old, kind=kind, subresource=subresource)
    for _ in range(draw(st.integers(1, 3))):
        where = draw(st.sampled_from(places(value)[1:]))
        target = value
        for step in where[:-1]:
            target = target[step]
        if draw(st.booleans()):
            target[where[-1]] = draw(JSON)
        elif isinstance(target, dict):
            del target[where[-1]]
    return path, value


async def answered(path: str, body: bytes) -> ReviewAnswer:
    async with embedded() as server:
        server.clock.moment = NOW
        await server.seed(NAMESPACES, namespace("shop"))
        await server.seed(PODS, copy.deepcopy(RUNNING["web"]))
        return await Hook.beside(server, WebhookConfig(rules=read_rules(RULES, "r"))).send(path, body)


def encodable(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # integers beyond 64 bits
        return repr(value).encode(errors="replace")


@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(spoilt_reviews())
def test_spoilt_reviews(sent: tuple[str, Any]) -> None:
    reply = asyncio.run(answered(sent[0], encodable(sent[1])))
    assert reply.code in (200, 400), reply.body


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from([MUTATE, VALIDATE, MUTATE_PODS, VALIDATE_PODS]), JSON | st.binary(max_size=40))
def test_anything_else(path: str, sent: Any) -> None:
    body = sent if isinstance(sent, bytes) else encodable(sent)
    assert asyncio.run(answered(path, body)).code == 400


def of_many(count: int) -> Obj:
    """A request with so many requesters, all of whose names are too long."""
    obj = the_request()
    obj["spec"]["requesters"] = [{"name": f"r{number}".ljust(254, "x")} for number in range(count)]
    return obj


@pytest.mark.parametrize("path", [MUTATE, VALIDATE])
@pytest.mark.parametrize(
    ("field", "many", "most"),
    [
        ("spec.requesters", [{"name": f"R{number}"} for number in range(101)], 100),
        ("spec.interceptors", [{"name": f"R{number}"} for number in range(101)], 100),
        ("metadata.ownerReferences", [{}] * 101, 100),
        ("metadata.finalizers", ["x"] * 201, 200),
        ("metadata.annotations", {f"{number}": "" for number in range(1001)}, 1000),
    ],
)
async def test_sizes_come_first(path: str, field: str, many: Any, most: int) -> None:
    """Nothing is looked up for an object that has too many of anything, and it is its only error."""
    obj = the_request()
    part, _, key = field.partition(".")
    obj[part][key] = many
    answer = await beside(TransportError("down")).ask(path, review("CREATE", new=obj))
    causes = answer.refusal["details"]["causes"]
    assert [(one["field"], one["reason"]) for one in causes] == [(field, "FieldValueTooMany")]
    assert f"must have at most {most} items" in answer.refusal["message"]


async def test_twenty_errors_are_enough() -> None:
    async with embedded() as server:
        server.clock.moment = NOW
        await server.seed(NAMESPACES, namespace("shop"))
        await server.seed(PODS, copy.deepcopy(RUNNING["web"]))
        answer = await Hook.beside(server).ask(MUTATE, review("CREATE", new=of_many(100)))
    assert len(answer.refusal["details"]["causes"]) == 20
    message = answer.refusal["message"]
    assert message.startswith('EvictionRequest.evictionrequest.coordination.k8s.io "')
    assert "[spec.requesters[0].name: Too long" in message
    assert message.endswith(", and 80 more errors]")


def large(name: str) -> Obj:
    """A pod whose review is large, and which registers an interceptor."""
    key = "interceptor.evictionrequest.coordination.k8s.io/priority_a.example.com"
    return {"metadata": {"name": name, "annotations": {key: "5", "x": "x" * 1_000_000}}, "spec": {}}


async def test_a_caller_spends_a_budget_of_its_own() -> None:
    hook = beside(TransportError("down"))
    assert isinstance(hook.clock, StillClock)
    sent = review("CREATE", new=large("p"), kind=PODS, user={"username": "mallory"})
    verdicts = [await hook.ask(VALIDATE_PODS, sent) for _ in range(50)]
    refused = [one.refusal for one in verdicts if not one.allowed]
    assert 10 < len(refused) < 40
    assert {(one["code"], one["reason"]) for one in refused} == {(429, "TooManyRequests")}
    assert refused[0]["details"]["retryAfterSeconds"] == 1
    # Others are not concerned, nor is the same user elsewhere, nor what is small.
    for more in ({"user": {"username": "ann"}}, {"user": {"username": "mallory"}, "namespace": "other"}):
        assert (await hook.ask(VALIDATE_PODS, review("CREATE", new=large("p"), kind=PODS, **more))).allowed
    small = review("CREATE", new={"metadata": {"name": "p"}}, kind=PODS, user={"username": "mallory"})
    assert (await hook.ask(VALIDATE_PODS, small)).allowed
    # What never refuses a write does not refuse it for this reason.
    deletion = review("DELETE", old=large("p"), kind=PODS, user={"username": "mallory"})
    assert (await hook.ask("/annotate/reasons", deletion)).allowed
    labels = {"path": VALIDATE_PODS, "verdict": "throttled"}
    count = hook.metrics.registry.get_sample_value("vacate_webhook_requests_total", labels)
    assert count == len(refused)
    hook.clock.move(60)
    assert (await hook.ask(VALIDATE_PODS, sent)).allowed


async def test_the_event_loop_does_not_wait_for_a_large_review(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small reviews are answered while a large one is worked on."""
    hook, begun, goes_on = beside(TransportError("down")), threading.Event(), threading.Event()

    def slow(*_: Any) -> list[Any]:
        begun.set()
        assert goes_on.wait(60)
        return []

    monkeypatch.setattr(pods, "registration_errors", slow)
    sent = review("CREATE", new=large("p"), kind=PODS)
    working = asyncio.create_task(hook.ask(VALIDATE_PODS, sent))
    assert await asyncio.to_thread(begun.wait, 60)
    assert (await hook.ask(MUTATE_PODS, review("CREATE", new={"metadata": {}}, kind=PODS))).allowed
    assert not working.done()
    goes_on.set()
    assert (await working).allowed


async def test_an_object_that_nests_too_deeply() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    obj = the_request()
    obj["status"] = {"message": deep}
    labels = {"metadata": {"labels": deep}}
    for path, new, kind in ((MUTATE, obj, KIND), (VALIDATE, obj, KIND), (MUTATE_PODS, labels, PODS)):
        sent = review("CREATE", new=None, kind=kind)
        sent["request"]["object"] = {"apiVersion": kind.api_version, "kind": kind.kind, **new}
        hook = beside(TransportError("down"))
        hook.terms = WebhookConfig(rules=read_rules(RULES, "r"))
        answer = await hook.ask(path, sent)
        assert answer.refusal["code"] == 400
        assert "nested more than 100 levels" in answer.refusal["message"]
