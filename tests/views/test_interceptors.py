"""Who intercepts, and who answers."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.records.history import PastTurn, TurnResult, write_history
from vacate.testing import pod
from vacate.views.interceptors import (
    InterceptorSummary,
    as_object,
    interceptor_summaries,
    row,
    unbound_notice,
)

pytestmark = pytest.mark.unit

T0 = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
PREFIX = "interceptor.evictionrequest.coordination.k8s.io/priority_"


def registering(*names: str) -> Obj:
    annotations = {f"{PREFIX}{name}": str(10 + index) for index, name in enumerate(names)}
    return pod("p", metadata={"annotations": annotations})


def request(active: str = "", *, answered: bool = False, past: tuple[PastTurn, ...] = ()) -> EvictionRequest:
    since = "2026-01-01T00:00:00.000000Z"
    status: dict[str, Any] = {
        "conditions": [
            {
                "type": "InterceptorAssigned",
                "status": "True",
                "lastTransitionTime": since,
                "message": write_history(past),
            }
        ],
        "heartbeatTime": "2026-01-01T00:00:05.000000Z" if answered else since,
    }
    if active:
        status["activeInterceptorName"] = active
    return msgspec.convert({"metadata": {"name": "u"}, "status": status}, EvictionRequest)


def turn(name: str, result: TurnResult, seconds: int = 30) -> PastTurn:
    return PastTurn(name, T0, result, T0 + dt.timedelta(seconds=seconds))


def state(summaries: list[InterceptorSummary]) -> dict[str, str]:
    return {one.name: one.state for one in summaries}


def test_registrations_and_turns_are_counted() -> None:
    requests = [
        request("b.example.com", answered=True, past=(turn("a.example.com", TurnResult.NEVER_RESPONDED),)),
        request("c.example.com"),
        request(past=(turn("d.example.com", TurnResult.DECLINED),)),
    ]
    pods = [
        registering("a.example.com", "b.example.com"),
        registering("b.example.com"),
        registering("e.example.com"),
    ]
    found = interceptor_summaries(pods, requests)
    assert state(found) == {
        "a.example.com": "NeverAnswered",
        "b.example.com": "Answers",
        "c.example.com": "Waiting",
        "d.example.com": "Answers",
        "e.example.com": "NoTurnYet",
    }
    now = T0 + dt.timedelta(minutes=1)
    assert row(found[0], now) == ("a.example.com", "1", "0", "1", "1", "0", "-", "NeverAnswered", "unknown")
    assert row(found[1], now) == ("b.example.com", "2", "1", "0", "0", "0", "55s ago", "Answers", "unknown")


def test_a_turn_that_ended_with_the_pod_is_no_answer_and_no_silence() -> None:
    found = interceptor_summaries([], [request(past=(turn("a.example.com", TurnResult.POD_GONE),))])
    assert state(found) == {"a.example.com": "Unknown"}


@pytest.mark.parametrize("silence", [TurnResult.TIMED_OUT, TurnResult.NEVER_RESPONDED])
@pytest.mark.parametrize("answer", [TurnResult.COMPLETED, TurnResult.DECLINED, TurnResult.FAILED])
def test_one_that_answered_and_fell_silent_does_not_answer_until_it_does_again(
    silence: TurnResult, answer: TurnResult
) -> None:
    name = "a.example.com"
    requests = [request(past=(turn(name, answer, 30),)), request(past=(turn(name, silence, 90),))]
    (found,) = interceptor_summaries([], requests)
    assert (found.state, found.silent, found.last_answer) == (
        "FellSilent",
        True,
        T0 + dt.timedelta(seconds=30),
    )
    assert found.unanswered + found.timed_out == 1
    (found,) = interceptor_summaries([], [*requests, request(past=(turn(name, answer, 120),))])
    assert (found.state, found.silent) == ("Answers", False)
    (found,) = interceptor_summaries([], requests[:1])
    assert found.state == "Answers"


def test_the_moment_of_a_time_out_is_no_answer() -> None:
    late = turn("a.example.com", TurnResult.TIMED_OUT)
    (found,) = interceptor_summaries([], [request(past=(late,))])
    assert (found.state, found.timed_out, found.unanswered) == ("FellSilent", 1, 0)
    assert found.last_answer is None, "it answered, and nothing says when"
    assert as_object(found)["timedOut"] == 1
    (found,) = interceptor_summaries([], [request("a.example.com", past=(late,))])
    assert (found.state, found.waiting) == ("FellSilent", 1), "until it answers in its new turn"


def test_which_account_reports_for_them_and_for_whom_anyone_may() -> None:
    pods = [registering("a.example.com", "b.example.com", "c.example.com")]
    bound = {"a.example.com": ("system:serviceaccount:shop:a", "system:serviceaccount:shop:b")}
    found = interceptor_summaries(pods, [], bound)
    assert [one.bound_to for one in found] == ["shop/a, shop/b", "-", "-"]
    assert [as_object(one)["boundTo"] for one in found] == [list(bound["a.example.com"]), [], []]
    notice = unbound_notice(found)
    assert notice.startswith("2 interceptors are not bound to an account")
    assert "b.example.com, c.example.com" in notice
    assert "vacate install --interceptor NAME=NAMESPACE/SERVICEACCOUNT" in notice
    assert not unbound_notice(found[:1])
    assert not unbound_notice(interceptor_summaries(pods, []))  # where bindings cannot be read


def test_a_binding_is_for_the_responder_of_kubernetes_own_api_too() -> None:
    pod: Obj = {"spec": {"evictionResponders": [{"name": "example.com/backup", "priority": 9000}]}}
    (found,) = interceptor_summaries([pod], [], {"backup.example.com": ("system:serviceaccount:shop:a",)})
    assert (found.name, found.pods, found.bound_to) == ("example.com/backup", 1, "shop/a")
