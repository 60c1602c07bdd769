"""Answers into values, refusals into errors."""

from __future__ import annotations

import orjson
import pytest

from vacate.api.kinds import PODS
from vacate.api.status import not_found, to_status
from vacate.api.types import Pod
from vacate.client.codec import codec_for, error_of
from vacate.errors import ApiError, Gone, NotFound, TooManyRequests, TransportError
from vacate.wire.framing import frame

pytestmark = pytest.mark.unit

WEB = {"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"}, "spec": {"nodeName": "n1"}}


def test_objects_and_lists_become_projections() -> None:
    pods = codec_for(Pod)
    assert pods.decode(orjson.dumps(WEB)).spec.node_name == "n1"
    page = pods.decode_list(
        orjson.dumps({"metadata": {"resourceVersion": "9", "continue": "c"}, "items": [WEB]})
    )
    assert (page.items[0].metadata.name, page.resource_version, page.continue_token) == ("web", "9", "c")
    assert list(pods.decode_list(b'{"metadata":{"resourceVersion":"9"},"items":null}').items) == []
    assert codec_for(dict).decode(orjson.dumps(WEB)) == WEB
    assert codec_for(Pod) is pods


def test_nulls_mean_not_set() -> None:
    pod = codec_for(Pod).decode(b'{"metadata":{"name":"a","labels":null},"spec":{"containers":null}}')
    assert (pod.metadata.labels, pod.spec.containers) == ({}, [])


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"metadata":{"name":5}}', b'{"spec":"x"}', b"\xff"]
)
def test_an_answer_that_cannot_be_read_is_no_answer(body: bytes) -> None:
    with pytest.raises(TransportError):
        codec_for(Pod).decode(body)


def test_events() -> None:
    pods = codec_for(Pod)
    added = pods.decode_event(frame("ADDED", orjson.dumps(WEB)).rstrip())
    assert added.type == "ADDED"
    assert added.object is not None
    assert (added.object.metadata.name, added.resource_version) == ("web", "7")
    plain = pods.decode_event(b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}}')
    assert (plain.object, plain.resource_version, plain.initial_events_end) == (None, "8", False)
    end = {"metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}
    assert pods.decode_event(frame("BOOKMARK", orjson.dumps(end)).rstrip()).initial_events_end


@pytest.mark.parametrize("line", ['{"type":"ERROR","object":%s}', '{ "object":%s, "type": "ERROR" }'])
def test_an_error_event_raises_what_it_says(line: str) -> None:
    status = orjson.dumps(to_status(Gone("too old resource version: 1 (5)"))).decode()
    with pytest.raises(Gone, match="too old resource version"):
        codec_for(Pod).decode_event((line % status).encode())


def test_refusals() -> None:
    missing = error_of(404, orjson.dumps(to_status(not_found(PODS, "web"))))
    assert isinstance(missing, NotFound)
    assert missing.message == 'pods "web" not found'
    assert missing.details == {"name": "web", "kind": "pods"}
    proxy = error_of(502, b"<html>Bad Gateway</html>")
    assert type(proxy) is ApiError
    assert (proxy.status_code, "Bad Gateway" in proxy.message) == (502, True)
    busy = error_of(429, b"", retry_after="7")
    assert isinstance(busy, TooManyRequests)
    assert busy.retry_after_seconds == 7
