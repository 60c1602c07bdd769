"""Requests and pods as the engine's values."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from eviction.dialects.given import FIRST, LAST, SECOND, at, condition, pod, read, read_pod, request, when
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import ADMITTED_STAMP
from vacate.eviction.model import EvictionState, Presence, Stage, Target, Termination
from vacate.eviction.records.reader import (
    assigned,
    has_responded,
    process_of,
    recorded_stage,
    shown_stage,
    target_of,
    unevictable,
)

pytestmark = pytest.mark.unit

CREATED = dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)
PLAIN = EvictionState(
    interceptors=(),
    requesters=("drain.example.com",),
    deadline=dt.timedelta(seconds=1800),
    created=CREATED,
)


def progressing(stage: str, status: str = "True") -> Obj:
    return condition("Progressing", status, stage, when(minutes=-1))


# The request


def test_a_fresh_request() -> None:
    assert process_of(read(request())) == PLAIN


def test_the_last_of_the_list_has_the_first_turn() -> None:
    obj = request()
    obj["spec"]["interceptors"] = [{"name": LAST}, {"name": SECOND}, {"name": FIRST}]
    assert process_of(read(obj)).interceptors == (FIRST, SECOND, LAST)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"activeInterceptorName": FIRST}, {"active": FIRST}),
        ({"activeInterceptorName": ""}, {"active": None}),
        ({"activeInterceptorCompleted": True}, {"active_completed": True}),
        ({"heartbeatTime": when(seconds=-3)}, {"heartbeat": at(seconds=-3)}),
        ({"evictionRequestCancellationPolicy": "Forbid"}, {"forbids_cancellation": True}),
        ({"evictionRequestCancellationPolicy": None}, {"forbids_cancellation": False}),
        ({"podEvictionStatus": {"failedAPIEvictionCounter": 5}}, {"failed_evictions": 5}),
        ({"conditions": [condition("Complete", "True", "Cancelled", when())]}, {"complete": True}),
        ({"conditions": [condition("Complete", "False", "Waiting", when())]}, {"complete": False}),
        (
            {"conditions": [progressing("Blocked", "False")]},
            {"stage": Stage.BLOCKED},
        ),
    ],
)
def test_what_the_status_says(status: Obj, expected: dict[str, Any]) -> None:
    found = process_of(read(request(**status)))
    assert {key: getattr(found, key) for key in expected} == expected


def test_what_metadata_and_spec_say() -> None:
    obj = request()
    obj["metadata"]["deletionTimestamp"] = when()
    obj["spec"] |= {"requesters": [], "heartbeatDeadlineSeconds": 600}
    found = process_of(read(obj))
    assert found.being_deleted
    assert found.requesters == ()
    assert found.deadline == dt.timedelta(minutes=10)


def test_only_what_carries_the_stamp_has_passed_admission() -> None:
    obj = request()
    assert process_of(read(obj)).admitted
    del obj["metadata"]["annotations"][ADMITTED_STAMP]
    assert not process_of(read(obj)).admitted
    assert ADMITTED_STAMP == "vacate.dev/admitted"


# Its stage


@pytest.mark.parametrize("stage", Stage)
def test_the_stage_that_was_written_is_the_stage(stage: Stage) -> None:
    assert recorded_stage(read(request(conditions=[progressing(stage.value)]))) is stage
    assert shown_stage(read(request(conditions=[progressing(stage.value)]))) is stage


@pytest.mark.parametrize(
    "conditions", [[], [progressing("Dancing")], [condition("Odd", "True", "Evicting", when())]]
)
def test_where_none_was_written_the_spec_decides(conditions: list[Obj]) -> None:
    assert recorded_stage(read(request(conditions=conditions))) is None
    assert shown_stage(read(request(conditions=conditions))) is Stage.EVICTING
    assert shown_stage(read(request(FIRST, conditions=conditions))) is Stage.INTERCEPTING


@pytest.mark.parametrize(
    ("active", "completed", "stage"),
    [
        (FIRST, False, Stage.INTERCEPTING),
        (FIRST, True, Stage.INTERCEPTING),
        (LAST, False, Stage.INTERCEPTING),
        (LAST, True, Stage.EVICTING),
    ],
)
def test_after_the_last_one_the_eviction_is_next(active: str, completed: bool, stage: Stage) -> None:
    obj = request(
        FIRST,
        LAST,
        activeInterceptorName=active,
        activeInterceptorCompleted=completed,
        conditions=[progressing("Intercepting")],
    )
    assert shown_stage(read(obj)) is stage


# Whether the active one has responded


@pytest.mark.parametrize(
    ("heartbeat", "responded"),
    [(when(), False), (when(microseconds=1), True), (when(seconds=-9), True), (when(hours=1), True)],
)
def test_a_heartbeat_of_another_instant_than_the_assignment_is_a_response(
    heartbeat: str, responded: bool
) -> None:
    assignment = condition("InterceptorAssigned", "True", "FirstInterceptor", when())
    obj = request(FIRST, activeInterceptorName=FIRST, heartbeatTime=heartbeat, conditions=[assignment])
    assert has_responded(read(obj)) is responded
    assert assigned(read(obj)) is not None


def test_without_an_assignment_nobody_has_responded() -> None:
    assert not has_responded(read(request(FIRST, heartbeatTime=when())))
    assert assigned(read(request(FIRST))) is None


# The pod


@pytest.mark.parametrize("live", [True, False])
def test_the_pod_that_was_meant(live: bool) -> None:
    assert target_of(read(request()), read_pod(pod()), live=live) == Target(live=live)


@pytest.mark.parametrize("found", [None, pod("another")], ids=["no pod of that name", "a pod of another uid"])
def test_only_the_server_itself_proves_that_a_pod_is_gone(found: Obj | None) -> None:
    seen = read_pod(found) if found else None
    assert target_of(read(request()), seen) == Target(Presence.UNSEEN)
    assert target_of(read(request()), seen, live=True) == Target(Presence.GONE, live=True)


def test_a_request_without_a_pod_has_nothing_to_evict() -> None:
    obj = request()
    obj["spec"]["target"] = {}
    assert target_of(read(obj), read_pod(pod())).presence is Presence.UNSEEN
    assert target_of(read(obj), read_pod(pod()), live=True).presence is Presence.GONE


@pytest.mark.parametrize(
    ("phase", "terminal"),
    [("Pending", False), ("Running", False), ("Unknown", False), ("Succeeded", True), ("Failed", True)],
)
def test_a_terminal_phase_is_an_end(phase: str, terminal: bool) -> None:
    assert target_of(read(request()), read_pod(pod(phase=phase))) == Target(terminal=terminal)


def test_a_pod_that_terminates_departs() -> None:
    going = pod(deletionTimestamp=when(seconds=30), finalizers=["a.example/x"])
    expected = Target(termination=Termination(at(seconds=30), ("a.example/x",), "node-1"))
    assert target_of(read(request()), read_pod(going)) == expected


def owner(kind: str, *, controller: bool) -> Obj:
    return {"apiVersion": "apps/v1", "kind": kind, "name": "agent", "uid": "o", "controller": controller}


MARK = {"kubernetes.io/config.mirror": "x"}
NODE = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "n", "controller": True}
FOREIGN = {**owner("DaemonSet", controller=True), "apiVersion": "example.com/v1"}


@pytest.mark.parametrize(
    ("meta", "because"),
    [
        ({}, ""),
        ({"ownerReferences": [owner("ReplicaSet", controller=True)]}, ""),
        ({"ownerReferences": [owner("DaemonSet", controller=False)]}, ""),
        ({"ownerReferences": [owner("DaemonSet", controller=True)]}, "belongs to DaemonSet agent"),
        ({"ownerReferences": [FOREIGN]}, ""),
        ({"annotations": MARK, "ownerReferences": [NODE]}, "mirrors a static pod"),
        ({"annotations": MARK}, ""),
        ({"annotations": MARK, "ownerReferences": [{**NODE, "name": "another"}]}, ""),
        ({"annotations": MARK, "ownerReferences": [owner("DaemonSet", controller=False)]}, ""),
        ({"annotations": {"kubernetes.io/config.source": "file"}}, ""),
    ],
)
def test_pods_of_daemon_sets_and_of_nodes_are_not_for_the_eviction_api(meta: Obj, because: str) -> None:
    found = unevictable(read_pod(pod(**meta)))
    assert because in found
    assert bool(found) == bool(because)
    assert target_of(read(request()), read_pod(pod(**meta))).unevictable == found
