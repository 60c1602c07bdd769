"""The record of a surge: what stands, and what is none of ours."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from vacate.api.types import Deployment
from vacate.interceptors.surge.plan import CleanUp, Nothing, Scale, Turn, plan
from vacate.kube.surge import SURGE, next_record, record_of, stands, surge_limit, unsupported

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(seconds=11)


def web(replicas: int = 3, record: str | None = None, max_surge: Any = "25%", **status: Any) -> Deployment:
    shown = {"observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas, **status}
    return msgspec.convert(
        {
            "metadata": {
                "name": "web",
                "uid": "u",
                "generation": 1,
                "annotations": {} if record is None else {SURGE: record},
            },
            "spec": {
                "replicas": replicas,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": max_surge}},
            },
            "status": shown,
        },
        Deployment,
    )


def raised(*pods: str, replicas: int = 3, **status: Any) -> Deployment:
    record = next_record(web(replicas), replicas, dict.fromkeys(pods, NOW))
    return web(record.to_replicas, record.text(), **status)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        '{"deployment":"u","fromReplicas":"3","toReplicas":4,"pods":{}}',
        '{"deployment":"u","fromReplicas":2,"toReplicas":3,"pods":{"a":"0001-01-01T00:00:00"}}',
        '{"deployment":"u","fromReplicas":2,"toReplicas":3,"pods":{"a":"yesterday"}}',
        '{"deployment":"other","fromReplicas":2,"toReplicas":3,"pods":{"a":"2026-01-01T00:00:00Z"}}',
        '{"deployment":"u","fromReplicas":0,"toReplicas":3,"pods":{"a":"2026-01-01T00:00:00Z"}}',
        '{"deployment":"u","fromReplicas":9,"toReplicas":3,"pods":{"a":"2026-01-01T00:00:00Z"}}',
    ],
)
def test_a_record_that_is_not_ours_is_removed_and_changes_no_count(text: str) -> None:
    found = web(3, text)
    record = record_of(found)
    assert record is not None
    assert not stands(record, found)
    assert plan(found, {"a": Turn.DEPLOYMENT}, {"a"}, NOW, covered=True) == CleanUp(gave_way=True)


@pytest.mark.parametrize(
    ("given", "replicas", "limit"), [("25%", 1, 1), ("30%", 5, 2), (2, 9, 2), ("x", 9, 0)]
)
def test_the_surge_is_rounded_up(given: Any, replicas: int, limit: int) -> None:
    assert surge_limit(web(replicas, max_surge=given), replicas) == limit
    assert bool(unsupported(web(replicas, max_surge=given))) is (limit == 0)


def test_a_step_takes_back_or_begins_and_never_both() -> None:
    waiting = {"a": Turn.REPLICASET, "b": Turn.DEPLOYMENT}
    step = plan(raised("a"), waiting, {"a", "b"}, NOW, covered=True)
    assert isinstance(step, Scale)
    assert (step.record.to_replicas, step.record.pods, step.removed) == (3, {}, ("a",))


def test_a_pod_is_removed_only_in_its_turn_and_while_it_is_covered() -> None:
    for turn, covered in ((Turn.DEPLOYMENT, True), (Turn.OTHER, True), (Turn.REPLICASET, False)):
        assert plan(raised("a"), {"a": turn}, {"a"}, NOW, covered=covered) == Nothing()


def test_as_many_pods_of_the_surge_go_as_there_are_too_many() -> None:
    cancelled = plan(raised("a"), {}, {"a", "b", "c", "s"}, NOW, covered=False)
    gone = plan(raised("a"), {}, {"b", "c", "s"}, LATER, covered=False)
    replaced = plan(raised("a"), {}, {"b", "c", "s", "r"}, NOW, covered=False)
    assert all(isinstance(one, Scale) and one.record.to_replicas == 3 for one in (cancelled, gone, replaced))
    assert [one.surplus for one in (cancelled, gone, replaced) if isinstance(one, Scale)] == [1, 0, 1]


def test_a_cancelled_surge_stands_until_its_pods_are_created_or_cannot_be() -> None:
    there = {"a", "b", "c"}
    assert plan(raised("a"), {}, there, NOW, covered=False) == Nothing()
    assert isinstance(plan(raised("a"), {}, there, LATER, covered=False), Scale)
    refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}
    assert isinstance(plan(raised("a", conditions=[refused]), {}, there, NOW, covered=False), Scale)


def test_nothing_begins_during_a_rollout() -> None:
    assert plan(web(3, updatedReplicas=1), {"a": Turn.DEPLOYMENT}, (), NOW, covered=False) == Nothing()
