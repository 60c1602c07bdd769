"""What an interceptor writes, without a server: differences, guards, and heartbeats that never fall back."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.types.evictionrequest import (
    ADMITTED_STAMP,
    FORBID,
    MAX_MESSAGE,
    EvictionRequest,
    EvictionRequestSpec,
    EvictionRequestStatus,
    RequestCondition,
    Requester,
)
from vacate.api.types.meta import ObjectMeta
from vacate.sdk import Cancellation, Condition, ContractError, TurnEndReason
from vacate.sdk.interceptors.patches import next_heartbeat, status_patch
from vacate.sdk.turnstate import ended, is_newer, is_turn_of
from vacate.sdk.values import Report

pytestmark = pytest.mark.unit

NAME = "backup.example.com"
NOW = dt.datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=dt.UTC)
EARLIER = NOW - dt.timedelta(minutes=5)


STAMP = {ADMITTED_STAMP: "true"}


def request(
    requesters: int = 1, uid: str = "u", version: str = "7", stamp: dict[str, str] = STAMP, **status: Any
) -> EvictionRequest:
    return EvictionRequest(
        metadata=ObjectMeta(
            name="pod-uid", namespace="default", uid=uid, resource_version=version, annotations=stamp
        ),
        spec=EvictionRequestSpec(requesters=[Requester(name=f"r{n}") for n in range(requesters)]),
        status=EvictionRequestStatus(
            **{"active_interceptor_name": NAME, "heartbeat_time": EARLIER, **status}
        ),
    )


def complete(reason: str) -> list[RequestCondition]:
    return [RequestCondition(type="Complete", status="True", reason=reason)]


def test_a_heartbeat_alone() -> None:
    assert status_patch(request(), Report(), NOW, beat=True) == {
        "metadata": {"uid": "u", "resourceVersion": "7"},
        "status": {"heartbeatTime": "2026-01-01T12:00:00.250000Z"},
    }


def test_nothing_new_is_nothing_to_write() -> None:
    assert status_patch(request(message="x"), Report("x"), NOW, beat=False) is None


def test_everything_at_once() -> None:
    report = Report(
        "half way",
        NOW + dt.timedelta(minutes=1),
        (Condition("DataSafe", False, "Copying"),),
        Cancellation.FORBID,
    )
    patch = status_patch(request(), report, NOW, beat=True, completed=True)
    assert patch is not None
    assert patch["status"] == {
        "message": "half way",
        "expectedInterceptorFinishTime": "2026-01-01T12:01:00.250000Z",
        "evictionRequestCancellationPolicy": "Forbid",
        "conditions": [
            {
                "type": "DataSafe",
                "status": "False",
                "reason": "Copying",
                "message": "",
                "lastTransitionTime": "2026-01-01T12:00:00.250000Z",
            }
        ],
        "heartbeatTime": "2026-01-01T12:00:00.250000Z",
        "activeInterceptorCompleted": True,
    }


def test_conditions_of_others_travel_along_and_a_status_that_stays_keeps_its_time() -> None:
    before = [
        RequestCondition(type="Other", status="True", reason="Theirs", last_transition_time=EARLIER),
        RequestCondition(type="DataSafe", status="False", reason="Copying", last_transition_time=EARLIER),
    ]
    same = Report(conditions=(Condition("DataSafe", False, "Copying", "90 %"),))
    patch = status_patch(request(conditions=before), same, NOW, beat=False)
    assert patch is not None
    other, mine = patch["status"]["conditions"]
    assert (other["type"], other["reason"]) == ("Other", "Theirs")
    assert (mine["message"], mine["lastTransitionTime"]) == ("90 %", "2026-01-01T11:55:00.250000Z")


def test_a_long_message_is_cut() -> None:
    patch = status_patch(request(), Report("x" * (MAX_MESSAGE + 1)), NOW, beat=False)
    assert patch is not None
    assert len(patch["status"]["message"]) == MAX_MESSAGE


def test_forbid_needs_someone_who_asks() -> None:
    forbid = Report(cancellation=Cancellation.FORBID)
    with pytest.raises(ContractError, match="the request no longer has any requesters"):
        status_patch(request(requesters=0), forbid, NOW, beat=True)
    # What is set already may be set again: it changes nothing.
    unchanged = request(requesters=0, eviction_request_cancellation_policy=FORBID)
    assert status_patch(unchanged, forbid, NOW, beat=False) is None


@given(st.integers(-20_000_000, 20_000_000))
def test_a_heartbeat_is_always_newer_than_the_stored_one(micros: int) -> None:
    stored = NOW + dt.timedelta(microseconds=micros)
    beat = next_heartbeat(request(heartbeat_time=stored), NOW)
    assert beat > stored
    assert beat >= NOW
    assert beat - max(stored, NOW) <= dt.timedelta(microseconds=1)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.booleans()), max_size=4), st.booleans())
def test_a_later_report_goes_over_an_earlier_one(reported: list[tuple[str, bool]], silent: bool) -> None:
    later = tuple(Condition(kind, status, "Later") for kind, status in dict(reported).items())
    earlier = Report("earlier", NOW, (Condition("A", True, "Earlier"),), Cancellation.ALLOW)
    merged = Report(None if silent else "later", None, later).over(earlier)
    assert merged.message == ("earlier" if silent else "later")
    assert merged.expected_finish == NOW
    assert merged.cancellation is Cancellation.ALLOW
    assert {one.type for one in merged.conditions} == {"A", *(one.type for one in later)}
    assert all(one.reason == "Later" for one in merged.conditions if one.type in dict(reported))


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (None, TurnEndReason.DELETED),
        (request(uid="another"), TurnEndReason.DELETED),
        (request(conditions=complete("Cancelled")), TurnEndReason.CANCELLED),
        (request(conditions=complete("PodDeleted")), TurnEndReason.POD_TERMINATED),
        (request(conditions=complete("SomethingNew")), TurnEndReason.POD_TERMINATED),
        (request(active_interceptor_name="another.example.com"), TurnEndReason.TAKEN_AWAY),
        (request(active_interceptor_name=None), TurnEndReason.TAKEN_AWAY),
        (request(active_interceptor_completed=True), TurnEndReason.COMPLETED),
        (request(), None),
    ],
)
def test_why_a_turn_is_over(seen: EvictionRequest | None, why: TurnEndReason | None) -> None:
    assert ended(seen, "u", NAME) is why


def test_nobody_starts_on_what_nobody_wants() -> None:
    assert is_turn_of(request(), NAME)
    assert not is_turn_of(request(requesters=0), NAME)
    assert not is_turn_of(request(stamp={}), NAME)
    assert is_turn_of(request(requesters=0, eviction_request_cancellation_policy=FORBID), NAME)
    assert not is_turn_of(request(), "another.example.com")


@pytest.mark.parametrize(
    ("seen", "known", "newer"),
    [
        (request(version="8"), request(version="7"), True),
        (request(version="10"), request(version="9"), True),
        (request(version="7"), request(version="7"), False),
        (request(version="6"), request(version="7"), False),
        (request(version="b"), request(version="a"), True),
        (request(version="a"), request(version="a"), False),
        (request(uid="v", version="6"), request(version="7"), True),
    ],
)
def test_which_state_is_newer(seen: EvictionRequest, known: EvictionRequest, newer: bool) -> None:
    assert is_newer(seen, known) is newer
