"""The eviction bridge's decision for every sort of review, and the line that a drain prints."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from vacate.admission.pods.bridge import (
    BridgeConfig,
    EvictionReview,
    Gone,
    Lookup,
    LookupResults,
    Pass,
    Wait,
    decide_review,
    read_eviction,
    refusal,
)
from vacate.api.identity import INSTALLED_CONTROLLER, StatusAuthority, User
from vacate.api.objects import Obj
from vacate.api.status import to_status
from vacate.api.times import format_time
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.callers import CALLERS, Caller, written_callers
from vacate.eviction.model import Limits
from vacate.eviction.registration import PREFIXES
from vacate.views.bridge import another_pod_message, requested_message, waiting_message

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
WAIT = dt.timedelta(minutes=10)
ALICE = User("alice")
CALLER = "alice.bridge.vacate.dev"
BACKUP, FLUSH = "backup.example.com", "flush.example.com"
CONFIG = BridgeConfig(StatusAuthority(interceptors={FLUSH: ("system:serviceaccount:db:flush",)}), wait=WAIT)
REVIEW = EvictionReview(ALICE, "d", "db-0")


def moment(seconds: float) -> str:
    return format_time(NOW + dt.timedelta(seconds=seconds))


def a_pod(*interceptors: str, uid: str = "u1", age: float = 86_400, **more: Any) -> Obj:
    turns = {f"{PREFIXES[0]}/priority_{name}": str(10 + i) for i, name in enumerate(interceptors)}
    meta = {"name": "db-0", "namespace": "d", "uid": uid, "annotations": turns}
    meta |= {"creationTimestamp": moment(-age)} | more.pop("metadata", {})
    return {"metadata": meta, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}, **more}


def a_node(**spec: Any) -> Obj:
    return {"metadata": {"name": "n"}, "spec": spec}


def a_request(uid: str = "u1", callers: dict[str, Caller] | None = None, **status: Any) -> EvictionRequest:
    annotations = {"vacate.dev/admitted": "true"}
    if callers:
        annotations[CALLERS] = written_callers(callers) or ""
    return msgspec.convert(
        {
            "metadata": {
                "name": uid,
                "namespace": "d",
                "annotations": annotations,
                "creationTimestamp": moment(-60),
            },
            "spec": {
                "target": {"podRef": {"name": "db-0", "uid": uid}},
                "requesters": [{"name": CALLER}],
                "interceptors": [{"name": FLUSH}, {"name": BACKUP}],
            },
            "status": status,
        },
        EvictionRequest,
    )


def active(name: str = BACKUP, *, completed: bool = False, heartbeat: float = -20) -> dict[str, Any]:
    began = {
        "type": "InterceptorAssigned",
        "status": "True",
        "reason": "FirstInterceptor",
        "message": "",
        "lastTransitionTime": moment(-50),
    }
    return {
        "activeInterceptorName": name,
        "activeInterceptorCompleted": completed,
        "heartbeatTime": moment(heartbeat),
        "conditions": [began],
    }


def done(reason: str) -> dict[str, Any]:
    since = moment(-5)
    one = {"type": "Complete", "status": "True", "reason": reason, "message": "", "lastTransitionTime": since}
    return {"conditions": [one]}


WAITING = {CALLER: Caller(NOW + WAIT)}
POD = a_pod(FLUSH, BACKUP)
YOUNG = a_pod(FLUSH, BACKUP, uid="u2", age=3)
OPEN = a_request(**active())
RECORDED = a_request(callers=WAITING, **active(FLUSH, completed=True))
OLD = a_request(callers=WAITING, **done("PodDeleted"))

TABLE: dict[str, tuple[EvictionReview, LookupResults, object]] = {
    "dry run": (replace(REVIEW, dry_run=True), LookupResults(), Pass()),
    "our controller": (replace(REVIEW, user=User(INSTALLED_CONTROLLER)), LookupResults(), Pass()),
    "the pod first": (REVIEW, LookupResults(), Lookup.POD),
    "absent, by UID": (replace(REVIEW, uid="u1"), LookupResults(None), Pass()),
    "another UID": (replace(REVIEW, uid="u0"), LookupResults(POD), Pass()),
    "no interceptors": (REVIEW, LookupResults(a_pod()), Pass()),
    "malformed interceptors": (REVIEW, LookupResults(a_pod("no_name")), Pass()),
    "then the request": (REVIEW, LookupResults(POD), Lookup.REQUEST),
    "no request": (REVIEW, LookupResults(POD, None), Wait()),
    "by UID, no request": (replace(REVIEW, uid="u1"), LookupResults(POD, None), Wait()),
    "not assigned": (REVIEW, LookupResults(POD, a_request()), Wait(a_request())),
    "intercepting": (REVIEW, LookupResults(POD, OPEN), Wait(OPEN)),
    "one is done, another comes": (
        REVIEW,
        LookupResults(POD, a_request(**active(completed=True))),
        Wait(a_request(**active(completed=True))),
    ),
    "all are done": (REVIEW, LookupResults(POD, RECORDED), Pass(RECORDED, final=False)),
    "all are done, by another": (
        REVIEW,
        LookupResults(POD, a_request(**active(FLUSH, completed=True))),
        Pass(final=False),
    ),
    "the last timed out": (
        REVIEW,
        LookupResults(POD, a_request(**active(FLUSH, heartbeat=-9999))),
        Pass(final=False),
    ),
    "cancelled": (
        REVIEW,
        LookupResults(POD, a_request(**done("Cancelled"))),
        Wait(replaced=a_request(**done("Cancelled"))),
    ),
    "terminating": (
        REVIEW,
        LookupResults(a_pod(FLUSH, metadata={"deletionTimestamp": moment(0)}), OPEN),
        Pass(),
    ),
    "terminating, for one who waited": (
        REVIEW,
        LookupResults(a_pod(FLUSH, metadata={"deletionTimestamp": moment(0)}), RECORDED),
        Pass(RECORDED),
    ),
    "ended": (REVIEW, LookupResults(a_pod(FLUSH, status={"phase": "Failed"}), None), Pass()),
    "the active interceptor itself": (replace(REVIEW, interceptor=BACKUP), LookupResults(POD, OPEN), Pass()),
    "another interceptor": (
        replace(REVIEW, interceptor="x.example.com"),
        LookupResults(POD, OPEN),
        Wait(OPEN),
    ),
    "a bound interceptor from elsewhere": (
        replace(REVIEW, interceptor=FLUSH),
        LookupResults(POD, a_request(**active(FLUSH))),
        Wait(a_request(**active(FLUSH))),
    ),
    "a bound interceptor": (
        replace(REVIEW, interceptor=FLUSH, user=User("system:serviceaccount:db:flush")),
        LookupResults(POD, a_request(**active(FLUSH))),
        Pass(),
    ),
    "a young pod: whose name was it": (REVIEW, LookupResults(YOUNG), Lookup.NAMESAKES),
    "a young pod, by UID": (replace(REVIEW, uid="u2"), LookupResults(YOUNG), Lookup.REQUEST),
    "created again: where": (REVIEW, LookupResults(YOUNG, namesakes=[OLD]), Lookup.NODE),
    "created again, not scheduled": (
        REVIEW,
        LookupResults(a_pod(FLUSH, uid="u2", age=3, spec={}), namesakes=[OLD]),
        Gone(OLD),
    ),
    "created again": (REVIEW, LookupResults(YOUNG, namesakes=[OLD], node=a_node()), Gone(OLD)),
    "created again on a node that is gone": (
        REVIEW,
        LookupResults(YOUNG, namesakes=[OLD], node=None),
        Gone(OLD),
    ),
    "created again without interceptors": (
        REVIEW,
        LookupResults(a_pod(uid="u2", age=3), namesakes=[OLD], node=a_node()),
        Gone(OLD),
    ),
    "created again on a node that is drained now": (
        REVIEW,
        LookupResults(YOUNG, namesakes=[OLD], node=a_node(unschedulable=True)),
        Lookup.REQUEST,
    ),
    "created again on a node that an autoscaler drains": (
        REVIEW,
        LookupResults(
            YOUNG,
            namesakes=[OLD],
            node=a_node(taints=[{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]),
        ),
        Lookup.REQUEST,
    ),
    "created again, and tolerates the cordon": (
        REVIEW,
        LookupResults(
            a_pod(FLUSH, uid="u2", age=3, spec={"nodeName": "n", "tolerations": [{"operator": "Exists"}]}),
            namesakes=[OLD],
            node=a_node(unschedulable=True),
        ),
        Gone(OLD),
    ),
    "created again on a node with odd taints": (
        REVIEW,
        LookupResults(YOUNG, namesakes=[OLD], node=a_node(taints=["x", {"key": "dedicated"}])),
        Gone(OLD),
    ),
    "created again, asked by another": (
        replace(REVIEW, user=User("bob")),
        LookupResults(YOUNG, namesakes=[OLD]),
        Lookup.REQUEST,
    ),
    "created again, answered before": (
        REVIEW,
        LookupResults(YOUNG, namesakes=[a_request(callers={CALLER: Caller(NOW + WAIT, answered=True)})]),
        Lookup.REQUEST,
    ),
    "created again, asked by UID before": (
        REVIEW,
        LookupResults(YOUNG, namesakes=[a_request(callers={CALLER: Caller(NOW + WAIT, by_uid=True)})]),
        Lookup.REQUEST,
    ),
    "created again, asked long ago": (
        REVIEW,
        LookupResults(YOUNG, namesakes=[a_request(callers={CALLER: Caller(NOW)})]),
        Lookup.REQUEST,
    ),
    "young, and still the same": (
        REVIEW,
        LookupResults(a_pod(FLUSH, age=3), namesakes=[RECORDED]),
        Lookup.REQUEST,
    ),
    "absent: for whom": (REVIEW, LookupResults(None), Lookup.NAMESAKES),
    "absent, for one who waited": (REVIEW, LookupResults(None, namesakes=[OLD]), Pass(OLD)),
    "absent": (REVIEW, LookupResults(None, namesakes=[]), Pass()),
}


@pytest.mark.parametrize("case", TABLE)
def test_decisions(case: str) -> None:
    review, known, expected = TABLE[case]
    assert decide_review(review, known, CONFIG, NOW) == expected


def test_limits_of_an_administrator_let_direct_evictions_pass() -> None:
    known = LookupResults(POD, a_request(**active(completed=True)))
    for limits in (Limits(interceptors=1), Limits(duration=dt.timedelta(seconds=30))):
        limited = replace(CONFIG, limits=limits)
        assert decide_review(REVIEW, known, limited, NOW) == Pass(final=False)


def test_an_eviction_is_read_whatever_stands_in_it() -> None:
    body: Obj = {
        "metadata": {"name": "db-0", "annotations": {"vacate.dev/interceptor": FLUSH}},
        "deleteOptions": {"gracePeriodSeconds": 5, "preconditions": {"uid": "u1"}, "dryRun": ["All"]},
    }
    assert read_eviction(ALICE, "d", "db-0", body, dry_run=False) == EvictionReview(
        ALICE, "d", "db-0", "u1", 5, dry_run=True, interceptor=FLUSH
    )
    odd: Obj = {"metadata": None, "deleteOptions": {"gracePeriodSeconds": True, "preconditions": [1]}}
    assert read_eviction(ALICE, "d", "db-0", odd, dry_run=False) == EvictionReview(ALICE, "d", "db-0")


def test_the_refusal_is_one_that_drains_retry_and_say() -> None:
    status = to_status(refusal("Intercepting: why"))
    assert (status["code"], status["reason"]) == (429, "TooManyRequests")
    assert status["details"] == {"causes": [{"reason": "EvictionRequest", "message": "Intercepting: why"}]}


def test_the_messages_say_stage_interceptor_progress_and_eta() -> None:
    more = "Try again until it is evicted; `vacate explain pod/db-0 -n d` shows more."
    assert waiting_message(a_request(), NOW) == (
        f"Intercepting: pod/db-0 is waiting for interceptor {BACKUP} (1 of 2), which is assigned next. {more}"
    )
    status = active() | {"message": "copied 40 %", "expectedInterceptorFinishTime": moment(300)}
    assert waiting_message(a_request(**status), NOW) == (
        f"Intercepting: pod/db-0 is waiting for interceptor {BACKUP} (1 of 2), last heartbeat 20s ago, "
        "expected to finish in 5m (at 12:05:00 UTC), times out in 29m (at 12:29:40 UTC). "
        f"It says: copied 40 %. {more}"
    )
    silent = active(FLUSH, heartbeat=-50) | {"expectedInterceptorFinishTime": moment(-5)}
    assert waiting_message(a_request(**silent), NOW) == (
        f"Intercepting: pod/db-0 is waiting for interceptor {FLUSH} (2 of 2), which has not responded yet, "
        f"expected to finish 5s ago, times out in 29m (at 12:29:10 UTC). {more}"
    )
    assert requested_message("d", "db-0", (FLUSH, BACKUP)) == (
        f"Intercepting: the eviction of pod/db-0 is requested, and interceptor {BACKUP} (1 of 2) prepares it "
        f"first. {more}"
    )
    assert "left alone" in another_pod_message("db-0", "u1")
