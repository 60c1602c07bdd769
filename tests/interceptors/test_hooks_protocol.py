"""What hooks are sent, what their answers mean, and what follows."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.effort import examples
from vacate.api.types.core import Pod, PodSpec
from vacate.api.types.evictionrequest import EvictionRequest, EvictionRequestSpec, Requester
from vacate.api.types.meta import ObjectMeta
from vacate.httpclient.service import Answer
from vacate.interceptors.hooks.decision import CallAgain, Failed, deadline_of, decide, pause_until
from vacate.interceptors.hooks.protocol import (
    PREPARE,
    Done,
    InProgress,
    Meaning,
    Refused,
    Unavailable,
    call_body,
    meaning_of,
)
from vacate.sdk.values import Finished

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 11, 16, 4, 0, tzinfo=dt.UTC)
SOON = NOW + dt.timedelta(minutes=5)


def test_a_call_names_pod_request_reason_and_deadline() -> None:
    pod = Pod(metadata=ObjectMeta(name="db-0", namespace="shop", uid="u-1"), spec=PodSpec(node_name="node-1"))
    spec = EvictionRequestSpec(requesters=[Requester(name="drain.example.com")])
    request = EvictionRequest(metadata=ObjectMeta(name="u-1", namespace="shop", uid="r-1"), spec=spec)
    assert call_body(PREPARE, pod, request, reason="Eviction", deadline=SOON, attempt=2) == {
        "action": "Prepare",
        "idempotencyKey": "r-1.hooks.vacate.dev",
        "attempt": 2,
        "pod": {"namespace": "shop", "name": "db-0", "uid": "u-1"},
        "node": "node-1",
        "request": {
            "kind": "EvictionRequest", "name": "u-1", "uid": "r-1", "requesters": ["drain.example.com"],
        },
        "reason": "Eviction",
        "deadline": "2026-11-16T04:05:00Z",
    }  # fmt: skip


def answer(status: int, body: object = b"", retry_after: str = "") -> Answer:
    return Answer(status, body if isinstance(body, bytes) else json.dumps(body).encode(), retry_after)


@pytest.mark.parametrize(
    ("given", "meaning"),
    [
        (answer(200), Done("")),
        (answer(204), Done("")),
        (answer(200, {"message": "flushed 3 GiB"}), Done("flushed 3 GiB")),
        (answer(200, {"message": "a\x1b[2J\nFORGED"}), Done("a [2J FORGED")),
        (answer(202), InProgress("", None, 10.0)),
        (answer(202, {"message": "copying", "percent": 40}), InProgress("copying (40 %)", None, 10.0)),
        (answer(202, {"percent": 1e300}), InProgress("", None, 10.0)),
        (answer(202, {"expectedFinishTime": "2026-11-16T04:05:00Z"}), InProgress("", SOON, 10.0)),
        (answer(202, {"expectedFinishTime": "9999-99-99"}), InProgress("", None, 10.0)),
        (answer(202, {"retryAfterSeconds": 0}), InProgress("", None, 1.0)),
        (answer(202, {"retryAfterSeconds": 1e30}), InProgress("", None, 300.0)),
        (answer(503, b"busy", "120"), Unavailable("HTTP status 503: busy", 120.0)),
        (answer(429, b"", "Wed, 21 Oct 2015 07:28:00 GMT"), Unavailable("HTTP status 429")),
        (answer(400, b"no such pod"), Refused("HTTP status 400: no such pod")),
        (answer(302), Refused("HTTP status 302: redirects are not followed")),
        (answer(201), Refused("HTTP status 201")),
    ],
)
def test_meanings(given: Answer, meaning: Meaning) -> None:
    assert meaning_of(given) == meaning


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b"[]", b'{"message": 3}', b"\xff", b"[" * 60_000])
@pytest.mark.parametrize("status", [200, 202])
def test_what_no_hook_answers_is_never_success(status: int, body: bytes) -> None:
    assert isinstance(meaning_of(Answer(status, body)), Unavailable)


@given(st.integers(100, 999), st.binary(max_size=400), st.text(max_size=20))
@settings(max_examples=examples(400))
def test_any_answer_has_a_meaning_that_can_be_shown(status: int, body: bytes, header: str) -> None:
    found = meaning_of(Answer(status, body, header))
    assert not isinstance(found, Done) or status in (200, 204)
    shown = found.message if isinstance(found, Done | InProgress) else found.why
    assert shown.isprintable()
    assert len(shown) <= 520


def test_the_deadline_is_the_earlier_of_the_hooks_and_the_nodes() -> None:
    assert deadline_of(NOW, 300, None) == SOON
    assert deadline_of(NOW, 300, NOW) == NOW
    assert deadline_of(NOW, 1e15, None) > SOON


def test_steps() -> None:
    assert decide("t", Done("x"), 3, SOON, SOON) == Finished("Hook t: x")
    assert decide("t", Refused("no"), 0, NOW, SOON) == Failed("hook t has refused: no")
    assert decide("t", InProgress("x", SOON, 7), 3, NOW, SOON) == CallAgain(7, "Hook t: x", SOON)
    pauses = []
    failures = 0
    for _ in range(9):
        step = decide("t", Unavailable("HTTP status 503"), failures, NOW, SOON)
        assert isinstance(step, CallAgain)
        pauses.append(step.seconds)
        failures = step.failures
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    requested = decide("t", Unavailable("busy", 120.0), 0, NOW, SOON)
    assert isinstance(requested, CallAgain)
    assert requested.seconds == 120


@pytest.mark.parametrize("meaning", [InProgress("x", None, 7), Unavailable("HTTP status 503")])
def test_when_its_time_is_over_a_hook_has_failed(meaning: Meaning) -> None:
    found = decide("t", meaning, 0, SOON, SOON)
    assert isinstance(found, Failed)
    assert "and its time was over" in found.why
    assert pause_until(7.0, SOON - dt.timedelta(seconds=3), SOON) == 3.0
    assert pause_until(7.0, SOON + dt.timedelta(days=1), SOON) == 0.0
