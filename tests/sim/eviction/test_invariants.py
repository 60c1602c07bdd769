"""Each invariant of evictions finds its breach, and nothing in an eviction that went well."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import Obj
from vacate.api.times import format_exact_time
from vacate.embedded.store.log import Record
from vacate.eviction.succession import HANDED_OVER
from vacate.sim.auditlog import RecordedRequest
from vacate.sim.invariants.check import breaches
from vacate.sim.invariants.completion import late_cancellations, late_endings
from vacate.sim.invariants.history import RequestHistory, moment
from vacate.sim.invariants.turns import premature_turn_breaches
from vacate.testing import pod
from vacate.testing.builders import merged

pytestmark = pytest.mark.unit

UID = "uid-web"
GET = f"/apis/evictionrequest.coordination.k8s.io/v1alpha1/namespaces/default/evictionrequests/{UID}"
EVICT = "/api/v1/namespaces/default/pods/web/eviction"


def time_of(seconds: float) -> str:
    return format_exact_time(moment(seconds))


def request(*interceptors: str, **status: Any) -> Obj:
    """A request for the pod; the first turn is the last interceptor's."""
    return {
        "metadata": {
            "name": UID,
            "namespace": "default",
            "uid": "r-1",
            "creationTimestamp": time_of(0),
            "annotations": {"vacate.dev/admitted": "true"},
        },
        "spec": {
            "target": {"podRef": {"name": "web", "uid": UID}},
            "requesters": [{"name": "drain.example.com"}],
            "interceptors": [{"name": name} for name in interceptors],
            "heartbeatDeadlineSeconds": 600,
        },
        "status": status,
    }


def condition(type_: str, reason: str, at: float = 0, status: str = "True") -> Obj:
    return {"type": type_, "status": status, "reason": reason, "lastTransitionTime": time_of(at)}


def turn(name: str, at: float, **more: Any) -> Obj:
    """The status that an assignment leaves."""
    return {
        "activeInterceptorName": name,
        "activeInterceptorCompleted": False,
        "heartbeatTime": time_of(at),
        "conditions": [condition("InterceptorAssigned", "FirstInterceptor", at)],
        **more,
    }


def ended(reason: str, at: float = 0, **more: Any) -> Obj:
    return {"conditions": [condition("Complete", reason, at)], **more}


class RecordedHistory:
    """A history, built step by step, and the requests that reached the server."""

    def __init__(self) -> None:
        self.history: list[tuple[float, Record]] = []
        self.heard: list[RecordedRequest] = []
        self.put(0, "pods", self.pod())

    def pod(self, **overrides: Any) -> Obj:
        built = merged(pod("web", node="node-1", ready=True), overrides)
        built["metadata"]["uid"] = UID
        return built

    def put(self, at: float, resource: str, obj: Obj, *, deleted: bool = False) -> RecordedHistory:
        revision = len(self.history) + 2
        name = obj["metadata"]["name"]
        record = Record(revision, resource, "default", name, deleted, revision, orjson.dumps(obj))
        self.history.append((at, record))
        return self

    def say(self, at: float, obj: Obj, *, deleted: bool = False) -> RecordedHistory:
        return self.put(at, "evictionrequests.evictionrequest.coordination.k8s.io", obj, deleted=deleted)

    def pod_ended(self, at: float) -> RecordedHistory:
        return self.put(at, "pods", self.pod(), deleted=True)

    def read(self, at: float, link: str = "manager") -> RecordedHistory:
        self.heard.append(RecordedRequest(link, "GET", GET, b"", at, 200, at))
        return self

    def evict(self, at: float, uid: str = UID, link: str = "manager") -> RecordedHistory:
        body = {"deleteOptions": {"preconditions": {"uid": uid}}} if uid else {}
        self.heard.append(RecordedRequest(link, "POST", EVICT, orjson.dumps(body), at, 201, at))
        return self

    def breaches(self) -> list[str]:
        return [
            line.split(": ", 1)[1]
            for line in breaches([RequestHistory(self.history)], self.heard, ("manager",))
        ]


def changed(status: Obj, **changes: Any) -> Obj:
    return {**status, **changes}


def good_history() -> RecordedHistory:
    first, second = turn("b", 1), turn("a", 700)
    return (
        RecordedHistory()
        .say(0, request("a", "b"))
        .say(1, request("a", "b", **first))
        .say(100, request("a", "b", **changed(first, heartbeatTime=time_of(100))))
        .say(700, request("a", "b", **second))
        .say(710, request("a", "b", **changed(second, activeInterceptorCompleted=True)))
        .read(711)
        .evict(711)
        .pod_ended(720)
        .say(721, request("a", "b", **ended("PodDeleted", 721, heartbeatTime=time_of(700))))
        .say(730, request("a", "b", **ended("PodDeleted", 721, heartbeatTime=time_of(700))), deleted=True)
    )


def test_an_eviction_that_went_well_breaks_no_invariant() -> None:
    assert good_history().breaches() == []


def assigned(*interceptors: str, **status: Any) -> RecordedHistory:
    """A history in which the last interceptor has had the turn since the first second."""
    return (
        RecordedHistory()
        .say(0, request(*interceptors))
        .say(1, request(*interceptors, **turn(interceptors[-1], 1, **status)))
    )


@pytest.mark.parametrize(
    ("at", "status", "expected"),
    [
        (700, turn("b", 700), "the turn went from c to b, and the list is"),
        (700, turn("d", 700), "d has the turn and is not in the list"),
        (580, turn("b", 580), "c was passed over within its deadline, 579.0 s after its heartbeat"),
        (700, {"heartbeatTime": time_of(1)}, "c lost its turn, and no other got it"),
        (700, turn("b", 700, activeInterceptorCompleted=True), "the new turn begins with what"),
        (700, turn("b", 700, heartbeatTime=time_of(701)), "the new turn's heartbeat is not the instant"),
        (50, changed(turn("c", 1), heartbeatTime=None), "the heartbeat was taken back"),
    ],
)  # fmt: skip
def test_turns(at: float, status: Obj, expected: str) -> None:
    names = ("a", "b", "c") if "went" not in expected else ("b", "a", "c")
    breaches = assigned(*names).say(at, request(*names, **status)).breaches()
    assert len(breaches) == 1
    assert breaches[0].startswith(expected)


def test_a_clock_that_is_ten_seconds_ahead_may_pass_the_turn_on_early() -> None:
    assert not assigned("a", "b").say(592, request("a", "b", **turn("a", 592))).breaches()
    assert assigned("a", "b").say(590, request("a", "b", **turn("a", 590))).breaches()


def test_the_first_turn_is_the_last_ones() -> None:
    breaches = (
        RecordedHistory().say(0, request("a", "b")).say(1, request("a", "b", **turn("a", 1))).breaches()
    )
    assert breaches == ["the turn went from none to a, and the list is a, b"]


def test_nobody_goes_back_up_the_list() -> None:
    recorded = assigned("a", "b").say(700, request("a", "b", **turn("a", 700)))
    assert recorded.say(1400, request("a", "b", **turn("b", 1400))).breaches() == [
        "the turn went from a to b, and the list is a, b"
    ]


def test_who_has_completed_stays_so_and_heartbeats_fall_back_a_little_at_most() -> None:
    done = changed(turn("a", 100), activeInterceptorCompleted=True)
    recorded = assigned("a").say(100, request("a", **done)).say(101, request("a", **turn("a", 100)))
    assert recorded.breaches() == ["a had completed its turn and has not any more"]
    recorded = assigned("a").say(50, request("a", **changed(turn("a", 1), heartbeatTime=time_of(50))))
    assert recorded.say(51, request("a", **changed(turn("a", 1), heartbeatTime=time_of(40)))).breaches() == []
    recorded.say(52, request("a", **turn("a", 1)))
    assert recorded.breaches()[0].startswith("the heartbeat fell back")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"status": {"message": "more"}}, "the request was complete and its status changed"),
        ({"spec": {"requesters": []}}, "the request was complete and its requesters changed"),
        ({"spec": {"heartbeatDeadlineSeconds": 700}}, "spec.heartbeat_deadline_seconds changed"),
        ({"spec": {"interceptors": [{"name": "x"}]}}, "spec.interceptors changed"),
    ],
)
def test_what_is_over_never_changes(change: Obj, expected: str) -> None:
    done = request("a", **ended("PodDeleted"))
    recorded = RecordedHistory().pod_ended(1).say(2, request("a")).say(3, done).say(4, merged(done, change))
    assert recorded.breaches() == [expected]
    assert (
        not RecordedHistory()
        .pod_ended(1)
        .say(3, done)
        .say(4, merged(done, {"metadata": {"labels": {"a": "b"}}}))
        .breaches()
    )


def test_counts_and_conditions_of_others_stay() -> None:
    counted = request(
        podEvictionStatus={"failedAPIEvictionCounter": 3}, conditions=[condition("Backup", "Begun")]
    )
    lost = request(podEvictionStatus={"failedAPIEvictionCounter": 2}, conditions=[])
    assert RecordedHistory().say(1, counted).say(2, lost).breaches() == [
        "the counter fell from 3 to 2",
        "the condition Backup of another writer was lost",
    ]


FORBIDS = {"evictionRequestCancellationPolicy": "Forbid"}


@pytest.mark.parametrize(
    ("change", "deleted", "expected"),
    [
        ({"spec": {"requesters": []}}, False, "requesters changed although the request forbids it"),
        (
            {"metadata": {"deletionTimestamp": time_of(1)}},
            False,
            "the request was deleted although it forbids it",
        ),
        ({}, True, "the request was removed although it forbids it"),
        ({"status": ended("Cancelled")}, False, "the request ended with Cancelled: it was not cancelled"),
    ],
)
def test_forbid_is_kept(change: Obj, deleted: bool, expected: str) -> None:
    recorded = (
        RecordedHistory()
        .say(0, request(**FORBIDS))
        .say(1, merged(request(**FORBIDS), change), deleted=deleted)
    )
    assert [line.startswith(expected) for line in recorded.breaches()] == [True]
    gone = RecordedHistory().say(0, request(**FORBIDS)).pod_ended(0.5)
    if "deleted" in expected or "removed" in expected:
        assert not gone.say(1, merged(request(**FORBIDS), change), deleted=deleted).breaches()


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("PodDeleted", "its pod is there"),
        ("PodTerminated", "its pod has not terminated"),
        ("Cancelled", "it was not cancelled, or forbids it"),
        ("Bored", "that is no reason"),
    ],
)
def test_endings_are_true(reason: str, expected: str) -> None:
    recorded = RecordedHistory().say(0, request()).say(1, request(**ended(reason)))
    assert recorded.breaches() == [f"the request ended with {reason}: {expected}"]


def test_a_request_whose_requesters_its_pod_has_recorded_for_the_next_one_ends_as_cancelled() -> None:
    record = {"type": HANDED_OVER[EVICTIONREQUESTS], "status": "True"}
    recorded = RecordedHistory().say(0, request())
    recorded.put(0.5, "pods", recorded.pod(status={"conditions": [record]}))
    assert recorded.say(1, request(**ended("Cancelled"))).breaches() == []


def test_a_pod_of_the_same_name_is_not_the_pod() -> None:
    other = pod("web", node="node-1", ready=True)
    other["metadata"]["uid"] = "uid-other"
    recorded = RecordedHistory().say(0, request()).pod_ended(1).put(2, "pods", other)
    assert recorded.say(3, request(**ended("PodDeleted"))).breaches() == []


def test_an_end_leaves_no_active_interceptor() -> None:
    recorded = assigned("a").pod_ended(2).say(3, request("a", **turn("a", 1) | ended("PodDeleted")))
    assert "the request ended and still has an active interceptor" in recorded.breaches()


def test_an_eviction_names_its_pod_and_has_a_requester() -> None:
    assert RecordedHistory().say(0, request()).evict(1).breaches() == []
    assert RecordedHistory().say(0, request()).evict(1, uid="").breaches()[0].startswith("no uid was named")
    assert RecordedHistory().evict(1).breaches() == ["no requester ever requested it"]
    assert RecordedHistory().say(0, request()).evict(1, uid="", link="somebody").breaches() == []


def test_daemon_pods_are_not_evicted() -> None:
    recorded = RecordedHistory().say(0, request())
    owner = {"kind": "DaemonSet", "name": "d", "uid": "u", "apiVersion": "apps/v1", "controller": True}
    recorded.put(0, "pods", recorded.pod(metadata={"ownerReferences": [owner]}))
    assert recorded.evict(1).breaches() == ["the pod must not be evicted, or never was"]


def test_an_eviction_needs_a_look_that_allowed_it() -> None:
    assert assigned("a").evict(700).breaches() == ["the request was not read before"]
    assert assigned("a").read(600).evict(700).breaches() == ["the request was not read before"]
    assert assigned("a").read(699, link="other").evict(700).breaches() == ["the request was not read before"]
    assert assigned("a").read(699).evict(700).breaches() == []
    assert assigned("a").read(580).evict(581).breaches() == [
        "the request, read at 580.000 s, did not allow it"
    ]
    assert assigned("a", "b").read(699).evict(700).breaches() != []


def test_a_heartbeat_after_the_look_came_too_late() -> None:
    late = changed(turn("a", 1), heartbeatTime=time_of(699.5))
    assert assigned("a").read(699).say(699.5, request("a", **late)).evict(700).breaches() == []
    assert assigned("a").say(698, request("a", **late)).read(699).evict(700).breaches() != []


def test_writers_that_undo_each_others_work_are_noticed() -> None:
    recorded, calm = RecordedHistory().say(0, request("a")), RecordedHistory().say(0, request("a"))
    for number in range(60):
        recorded.say(1 + number / 40, request("a", message=str(number % 2)))
        calm.say(1 + number / 15, request("a", message=str(number % 2)))
    assert recorded.breaches() == ["24 writes in a second"]
    assert calm.breaches() == []


def test_a_request_ends_soon_after_its_pod() -> None:
    done = request(**ended("PodDeleted"))
    recorded = RecordedHistory().say(0, request()).pod_ended(100).say(103, done)
    assert not list(late_endings(RequestHistory(recorded.history), 0))
    late = RecordedHistory().say(0, request()).pod_ended(100).say(120, done)
    assert [*late_endings(RequestHistory(late.history), 0)] == [
        f"request default/{UID} went on for 20.0 s after its pod had terminated"
    ]
    assert not list(late_endings(RequestHistory(late.history), 118))
    never = RecordedHistory().say(0, request()).pod_ended(100).put(500, "pods", pod("other"))
    assert len([*late_endings(RequestHistory(never.history), 0)]) == 1
    asked_later = RecordedHistory().pod_ended(100).say(200, request()).say(201, done)
    assert not list(late_endings(RequestHistory(asked_later.history), 0))


def test_a_request_that_nobody_wants_is_over_soon() -> None:
    unwanted = merged(request("a"), {"spec": {"requesters": []}})
    over = merged(unwanted, {"status": ended("Cancelled", 102)})

    def late(*recorded: tuple[float, Obj], since: float = 0) -> list[str]:
        breaches = RecordedHistory().say(0, request("a"))
        for at, obj in recorded:
            breaches.say(at, obj)
        return [line.split(" ", 2)[2] for line in late_cancellations(RequestHistory(breaches.history), since)]

    assert late((100, unwanted), (102, over)) == []
    assert late((100, unwanted), (110, over)) == ["went on for 10.0 s after its cancellation"]
    assert late((100, unwanted), (104, unwanted), (110, over)) == [
        "went on for 10.0 s after its cancellation"
    ]
    assert late((100, unwanted), (110, over), since=106) == []
    assert late((100, unwanted), (103, request("a")), (200, unwanted), (203, over)) == []
    assert late((100, unwanted), (300, unwanted)) == ["went on for 200.0 s after its cancellation"]


def test_who_has_just_begun_to_listen_gives_nobody_up() -> None:
    def hasty(status: Obj, starts: list[float]) -> list[str]:
        recorded = assigned("a", "b").say(690, request("a", "b", **status))
        recorded.say(700, request("a", "b", **turn("a", 700)))
        return list(premature_turn_breaches(RequestHistory(recorded.history), starts))

    silent = turn("b", 1)
    assert hasty(silent, [0]) == []
    assert hasty(silent, [0, 639]) == []
    assert hasty(silent, [0, 645])[0].endswith("b timed out 55.0 s after the controller began to listen")
    assert hasty(changed(silent, activeInterceptorCompleted=True), [0, 645]) == []
