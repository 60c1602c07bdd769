"""What holds drains, by cause: who waits for whom, since when, and what helps."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.nodemaintenance import AUTOMATIC, MANUAL, Blocker, BlockerRemedy, NodeMaintenance
from vacate.views.causes import SELF_EXPECTED, Ahead, Cause, causes_of

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 11, 17, 2, 14, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


def _held(pod: str, minutes: int, **fields: Any) -> Blocker:
    known: dict[str, Any] = {
        "node": f"node-of-{pod}", "namespace": "shop", "pod": pod, "kind": "DisruptionBudget", "name": "web",
        "message": "Disruption budget web needs 3 healthy pods.", "resolution": MANUAL,
        "remedy": "start a replacement first: kubectl annotate",
        "remedies": [BlockerRemedy(text="start a replacement first", command="kubectl annotate"),
                     BlockerRemedy(text="add replicas")],
        "since": NOW - minutes * MINUTE,
    }  # fmt: skip
    return Blocker(**(known | fields))


def _drain(name: str, *blockers: Blocker, **spec: Any) -> NodeMaintenance:
    rows = [
        {"name": one.node, "phase": "Blocked", "deadlineTime": "2026-11-17T03:00:00Z"} for one in blockers
    ]
    made = {
        "metadata": {"name": name},
        "spec": {"nodes": [one.node for one in blockers], **spec},
        "status": {"nodes": rows, "blockers": [msgspec.to_builtins(one) for one in blockers]},
    }
    return msgspec.convert(made, NodeMaintenance)


def test_one_budget_that_holds_two_drains_is_one_cause_with_all_that_wait() -> None:
    later = msgspec.structs.replace(_held("web-3", 1, message="needs more"), node="node-2")
    drains = _drain("kernel", _held("web-1", 43), _held("web-2", 5)), _drain("firmware", later)
    only = _only(causes_of(drains, NOW))
    assert str(only.heading) == "Disruption budget shop/web never allows an eviction"
    assert [one.pod for one in only.waiting] == ["web-1", "web-2", "web-3"], "the longest first"
    assert [one.maintenance for one in only.waiting] == ["kernel", "kernel", "firmware"]
    assert only.since == NOW - 43 * MINUTE
    assert only.needs_person
    assert only.message == "Disruption budget web needs 3 healthy pods."
    assert [(one.text, one.command) for one in only.remedies] == [
        ("Start a replacement first.", "kubectl annotate"),
        ("Add replicas.", ""),
    ]
    assert only.otherwise == "node-of-web-1 and 2 other nodes are never drained."


def test_budgets_of_the_same_name_in_two_namespaces_are_two_causes() -> None:
    found = causes_of([_drain("kernel", _held("web-1", 43), _held("web-1", 50, namespace="blog"))], NOW)
    assert [(one.namespace, one.name) for one in found] == [("blog", "web"), ("shop", "web")]


@pytest.mark.parametrize(
    ("fields", "minutes", "person"),
    [
        pytest.param({"resolution": MANUAL}, 0, True, id="never goes by itself"),
        pytest.param({"resolution": ""}, 0, True, id="recorded by an older manager"),
        pytest.param({"resolution": AUTOMATIC}, 1, False, id="goes by itself"),
        pytest.param({"resolution": AUTOMATIC}, 10, True, id="should have gone by itself"),
        pytest.param({"resolution": AUTOMATIC, "kind": "Turn"}, 90, False, id="another drain takes long"),
        pytest.param({"resolution": AUTOMATIC, "end_time": NOW + MINUTE}, 90, False, id="ends at a time"),
    ],
)
def test_whether_a_person_is_needed(fields: dict[str, Any], minutes: int, person: bool) -> None:
    assert minutes * MINUTE != SELF_EXPECTED or person
    only = _only(causes_of([_drain("kernel", _held("web-1", minutes, **fields))], NOW))
    assert only.needs_person is person
    assert person or only.otherwise == "It ends by itself."


def test_what_needs_a_person_comes_before_older_causes_that_do_not() -> None:
    young = _held("db-0", 4, kind="Interceptor", name="backup.example.com", message="x has not responded")
    turn = _held("", 90, kind="Turn", resolution=AUTOMATIC, name="other", namespace="")
    found = causes_of([_drain("kernel", turn, young)], NOW)
    assert [str(one.heading) for one in found] == [
        "Interceptor backup.example.com is silent",
        "Node node-of- waits for another drain",
    ]


def test_what_happens_if_nobody_acts() -> None:
    silent = _held(
        "db-0", 4, kind="Interceptor", name="backup.example.com", end_time=NOW + 25 * MINUTE,
        consequence="at 02:39:00 UTC it times out, and the pod is evicted without the preparation",
    )  # fmt: skip
    only = _only(causes_of([_drain("kernel", silent, onDeadline="Delete")], NOW))
    assert only.end == NOW + 25 * MINUTE
    assert only.otherwise == (
        "At 02:39:00 UTC it times out, and the pod is evicted without the preparation. At 03:00:00 UTC, the "
        "deadline of its node, the pod is deleted past what protects it."
    )


def test_a_request_outside_a_drain_is_held_by_the_same_cause_and_counts_once() -> None:
    drain = _drain("kernel", _held("web-1", 43))
    only = _only(causes_of([drain], NOW, held=[_held("web-1", 50), _held("web-9", 2)]))
    assert [(one.pod, one.maintenance) for one in only.waiting] == [("web-1", "kernel"), ("web-9", "")]
    alone = _only(causes_of([], NOW, held=[_held("web-9", 2)]))
    assert alone.otherwise == "The pod is not evicted."


def test_a_pod_with_two_requests_waits_once_and_for_as_long_as_the_older_one() -> None:
    """Requests of two APIs, which one budget holds; in two drains it waits in each."""
    held = [_held("web-1", 5), _held("web-1", 43)]
    only = _only(causes_of([], NOW, held=held))
    assert [(one.pod, one.since) for one in only.waiting] == [("web-1", NOW - 43 * MINUTE)]
    only = _only(causes_of([_drain("kernel", *held), _drain("disk", *held)], NOW, held=held))
    assert [(one.pod, one.maintenance) for one in only.waiting] == [("web-1", "kernel"), ("web-1", "disk")]


def test_pods_of_nodes_whose_turn_comes_later_will_wait_for_the_same() -> None:
    pods = [_pod("web-1"), _pod("web-2"), _pod("web-5", namespace="blog"), _pod("db-0", app="db")]
    pods.append(_pod("web-7", deletionTimestamp="2026-11-17T02:00:00Z"))
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}}
    budget = msgspec.convert(
        {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}, PodDisruptionBudget
    )
    ahead = Ahead([("kernel", pod) for pod in pods], [budget])
    only = _only(causes_of([_drain("kernel", _held("web-1", 43))], NOW, ahead=ahead))
    assert [(one.pod, one.node) for one in only.more] == [("web-2", "later")]


def test_a_drain_that_is_being_cancelled_waits_for_nothing() -> None:
    drain = _drain("kernel", _held("web-1", 43))
    meta = msgspec.structs.replace(drain.metadata, deletion_timestamp=NOW)
    assert causes_of([msgspec.structs.replace(drain, metadata=meta)], NOW) == ()


def _pod(name: str, namespace: str = "shop", app: str = "web", **meta: str) -> Pod:
    labels = {"app": app}
    made = {"metadata": {"name": name, "namespace": namespace, "labels": labels, **meta}}
    return msgspec.convert({**made, "spec": {"nodeName": "later"}}, Pod)


def _only(found: tuple[Cause, ...]) -> Cause:
    (only,) = found
    return only
