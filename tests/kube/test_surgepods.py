"""Which pods are the surge: by the record, never by age alone."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest

from vacate.api.types import Pod
from vacate.kube.surge import SurgeRecord
from vacate.kube.surgepods import naming_earlier, surge_pods, surplus_pods

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 1, 1, 12, 0, 0, tzinfo=dt.UTC)


def pod(uid: str, age: int = 0, *, ready: bool = True) -> Pod:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    meta = {"name": uid, "uid": uid, "creationTimestamp": (NOW - dt.timedelta(seconds=age)).isoformat()}
    return msgspec.convert({"metadata": meta, "status": {"conditions": conditions}}, Pod, strict=False)


def record(*pods: str) -> SurgeRecord:
    return SurgeRecord(
        deployment="u", from_replicas=3, to_replicas=3 + len(pods), pods=dict.fromkeys(pods, NOW)
    )


def uids(pods: list[Pod]) -> list[str]:
    return [one.metadata.uid for one in pods]


def test_pods_of_the_same_second_are_distinguished() -> None:
    old = [pod("a"), pod("b"), pod("c")]
    began = naming_earlier(record("a"), None, old, (), NOW)
    assert uids(surge_pods(began, [*old, pod("s")])) == ["s"]
    assert uids(surplus_pods(began, [*old, pod("s")], (), 3)) == ["s"]


def test_the_record_names_young_pods_only() -> None:
    old = [pod("a", 3600), pod("b", 3600), pod("c", 30)]
    assert naming_earlier(record("a"), None, old, (), NOW).earlier == ("c",)


def test_clocks_of_servers_may_differ() -> None:
    old = [pod("a", 3600), pod("b", 3600)]
    began = naming_earlier(record("a"), None, old, (), NOW)
    assert uids(surge_pods(began, [*old, pod("s", 59)])) == ["s"]


def test_a_replacement_that_has_taken_over_is_no_longer_of_the_surge() -> None:
    first = naming_earlier(record("a", "b"), None, [pod("a"), pod("b"), pod("c")], (), NOW)
    pods = [pod("a"), pod("b"), pod("c"), pod("s", -5), pod("t", -9)]
    left = naming_earlier(record("b"), first, pods, {"a"}, NOW)
    assert uids(surge_pods(left, pods[1:])) == ["t"]
    more = naming_earlier(record("b", "c"), left, pods[1:], (), NOW)
    assert uids(surge_pods(more, [*pods[1:], pod("v", -20)])) == ["v", "t"]


def test_pods_that_are_not_ready_go_before_the_youngest() -> None:
    began = naming_earlier(record("a"), None, [pod("a")], (), NOW)
    assert uids(surge_pods(began, [pod("s", -1, ready=False), pod("t", -9)])) == ["s", "t"]


def test_a_record_of_an_earlier_version_counts_all_pods_without_a_request() -> None:
    assert uids(surge_pods(record("a"), [pod("a"), pod("b", 9), pod("s")])) == ["s", "b"]
