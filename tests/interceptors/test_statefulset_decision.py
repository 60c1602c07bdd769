"""When a member of a stateful set may go."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from vacate.api.types import StatefulSet
from vacate.interceptors.decision import Wait
from vacate.interceptors.statefulset.decision import LIMIT, Members, WaitState, decide
from vacate.kube.statefulsets import MAX_UNAVAILABLE, max_unavailable
from vacate.sdk.values import Declined, Finished

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
LONG_AGO = NOW - dt.timedelta(seconds=LIMIT)


def db(replicas: int = 3, annotation: str | None = None, **parts: Any) -> StatefulSet:
    spec = {"replicas": replicas, "updateStrategy": {"type": "RollingUpdate"}, **parts.pop("spec", {})}
    notes = {} if annotation is None else {MAX_UNAVAILABLE: annotation}
    meta = {"name": "db", "uid": "u", "generation": 2, "annotations": notes, **parts.pop("metadata", {})}
    status = {"observedGeneration": 2, "currentRevision": "a", "updateRevision": "a", **parts}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, StatefulSet)


def members(waiting: Any = (), unhealthy: Any = (), handed_over: Any = ()) -> Members:
    return Members(frozenset(handed_over), frozenset(waiting), unhealthy)


@pytest.mark.parametrize(
    ("ordinal", "now", "limit", "goes"),
    [
        (2, members({2}), None, True),
        (0, members({0, 2}), None, False),  # the highest first
        (2, members({0, 2}), None, True),
        (2, members({2}, {0}), None, False),  # another is down
        (2, members({2}, {2}), None, True),  # only this one is
        (0, members({0, 2}, {0}), None, True),  # who is down anyway goes first
        (2, members({0, 2}, {0}), None, False),
        (1, members({0, 1}, {0, 1}), None, True),  # of two that are down, the highest
        (0, members({0, 1}, {0, 1}), None, False),
        (1, members({1}, (), {2}), None, False),  # one is on its way
        (1, members({1}, None), None, False),  # nobody knows how the others are
        (1, members({1}, (), {2}), "2", True),
        (0, members({0, 1}, (), {2}), "2", False),
        (1, members({0, 1, 2}), "2", True),
        (0, members({0, 1, 2}), "2", False),
        (1, members({1}, {0}, {2}), "2", False),
        (1, members({1}, {2}, {2}), "2", True),  # handed over and down is one, not two
    ],
)
def test_who_goes_next(ordinal: int, now: Members, limit: str | None, goes: bool) -> None:
    decision = decide(db(annotation=limit), ordinal, now, WaitState(), NOW)
    assert isinstance(decision, Finished if goes else Wait), decision


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "belongs to no StatefulSet"),
        (db(spec={"updateStrategy": {"type": "OnDelete"}}), "OnDelete leaves deletions to people"),
        (db(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), "is being deleted"),
        (db(0), "scaled to zero"),
        (db(2), "does not want the pod any more"),
    ],
)
def test_what_is_declined(found: StatefulSet | None, message: str) -> None:
    decision = decide(found, 2, members({2}), WaitState(), NOW)
    assert isinstance(decision, Declined)
    assert message in str(decision)


@pytest.mark.parametrize(
    ("found", "waits"),
    [
        (db(observedGeneration=1), True),
        (db(updateRevision="b", updatedReplicas=2), True),
        (db(updateRevision="b", updatedReplicas=3), False),
        (
            db(
                updateRevision="b",
                updatedReplicas=1,
                spec={"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}},
            ),
            False,
        ),
    ],
)
def test_a_rollout_is_waited_for_up_to_a_limit(found: StatefulSet, waits: bool) -> None:
    assert isinstance(decide(found, 2, members({2}), WaitState(NOW), NOW), Wait) is waits
    late = decide(found, 2, members({2}), WaitState(LONG_AGO), NOW)
    assert isinstance(late, Declined) is waits


def test_a_member_that_stays_down_is_waited_for_up_to_a_limit() -> None:
    down = members({2}, {0})
    assert isinstance(decide(db(), 2, down, WaitState(broken_since={0: NOW}), NOW), Wait)
    late = decide(db(), 2, down, WaitState(broken_since={0: LONG_AGO}), NOW)
    assert isinstance(late, Declined)
    assert "pod db-0 did not become ready in time" in str(late)
    # One that was handed over is another's to end.
    going = members({2}, {0}, {0})
    assert isinstance(decide(db(), 2, going, WaitState(broken_since={0: LONG_AGO}), NOW), Wait)


@pytest.mark.parametrize(
    ("annotation", "field", "number"),
    [
        (None, None, 1),
        ("2", None, 2),
        ("34%", None, 2),
        ("0", None, 1),
        ("many", None, 1),
        ("-3", None, 1),
        (None, 3, 3),
        (None, "50%", 1),  # as the StatefulSet controller rounds it
        ("50%", None, 2),
        ("2", 3, 2),
        ("many", 3, 3),
    ],
)
def test_how_many_at_once(annotation: str | None, field: int | str | None, number: int) -> None:
    rolling = {} if field is None else {"maxUnavailable": field}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    assert max_unavailable(db(annotation=annotation, spec={"updateStrategy": strategy})) == number
