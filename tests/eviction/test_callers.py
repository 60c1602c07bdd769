"""The record of callers in a request: read whatever it says, written seldom, and what follows from it."""

from __future__ import annotations

import datetime as dt
import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.names import dns1123_subdomain, label_value
from vacate.api.types.evacuation import MAX_INSTIGATOR
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.controllers.evictionbridge.controller import due_withdrawal, withdrawal_patch
from vacate.eviction.callers import (
    CALLERS,
    SUFFIX,
    Caller,
    attempt,
    caller_name,
    callers_of,
    grace_period,
    needs_write,
    pod_label,
    written_callers,
)

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
WAIT = dt.timedelta(minutes=10)
ALICE, BOB = caller_name("alice"), caller_name("bob")


def a_request(callers: dict[str, Caller], *others: str, **status: object) -> EvictionRequest:
    annotations = {CALLERS: written_callers(callers) or "{}"}
    return msgspec.convert(
        {
            "metadata": {"name": "u1", "uid": "r1", "resourceVersion": "7", "annotations": annotations},
            "spec": {
                "target": {"podRef": {"name": "p", "uid": "u1"}},
                "requesters": [{"name": name} for name in (*others, *callers)],
            },
            "status": status,
        },
        EvictionRequest,
    )


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("alice", "alice"),
        ("build-1", "build-1"),
        ("someone", "someone"),
        ("system:serviceaccount:kube-system:karpenter", "kube-system-karpenter-DIGEST"),
        ("", "someone-DIGEST"),
        ("日本", "someone-DIGEST"),
        ("a" * 63, "a" * 63),
        ("a" * 64, "a" * 46 + "-DIGEST"),
    ],
)
def test_names_of_callers(user: str, name: str) -> None:
    digest = hashlib.sha256(user.encode()).hexdigest()[:16]
    assert caller_name(user) == f"{name.replace('DIGEST', digest)}.bridge.vacate.dev"


_ALIKE = [
    "alice@example.com", "alice-example-com", "alice.example.com", "Alice-example-com", "-alice-example-com",
    "system:serviceaccount:a-b:c", "system:serviceaccount:a:b-c", "a-b-c", "SYSTEM:serviceaccount:a:b-c",
    "", "someone", "-", "日本", "\udcff", "?", "n" * 200, "n" * 201,
]  # fmt: skip


@pytest.mark.parametrize("limit", [253, MAX_INSTIGATOR])
def test_no_two_users_have_one_name(limit: int) -> None:
    users = [*_ALIKE, *(caller_name(one, limit).removesuffix(f".{SUFFIX}") for one in _ALIKE)]
    names = {caller_name(user, limit) for user in users}
    assert len(names) == len(set(users))
    assert all(len(name) <= limit for name in names)


@given(st.text())
def test_every_user_has_a_name_that_a_server_takes(user: str) -> None:
    assert dns1123_subdomain(caller_name(user)) == []


@pytest.mark.parametrize("name", ["a", "a.b-c.d", "x" * 63, "x" * 200])
def test_every_pod_has_a_label(name: str) -> None:
    assert label_value(pod_label(name)) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text() | _JSON.map(lambda value: msgspec.json.encode(value).decode()))
def test_whatever_stands_in_the_annotation_can_be_read(text: str) -> None:
    assert isinstance(callers_of({CALLERS: text}), dict)


def test_what_is_written_is_read_again() -> None:
    callers = {ALICE: Caller(NOW, by_uid=True, grace=5), BOB: Caller(NOW, answered=True)}
    assert callers_of({CALLERS: written_callers(callers) or ""}) == callers
    assert written_callers({}) is None
    one = {"until": "2026-03-01T12:00:00Z", "gracePeriodSeconds": -1}
    odd = {"a.bridge.vacate.dev": {"until": "soon"}, "b.bridge.vacate.dev": 1, "c.bridge.vacate.dev": one}
    foreign = {"drain.example.com": one}  # a requester that is no caller of the bridge's
    read = callers_of({CALLERS: msgspec.json.encode({**odd, **foreign}).decode()})
    assert read == {"c.bridge.vacate.dev": Caller(NOW)}


def test_an_attempt_is_written_once_for_each_tenth_of_the_time() -> None:
    first = attempt(NOW, WAIT, by_uid=False, grace=None)
    assert first.until - NOW == dt.timedelta(minutes=11)
    soon = attempt(NOW + dt.timedelta(seconds=59), WAIT, by_uid=False, grace=None)
    later = attempt(NOW + dt.timedelta(seconds=60), WAIT, by_uid=False, grace=None)
    other = attempt(NOW, WAIT, by_uid=False, grace=3)
    assert [needs_write(first, one, WAIT) for one in (soon, later, other)] == [False, True, True]
    assert needs_write(None, first, WAIT)


def test_the_grace_period_is_that_of_callers_where_all_gave_one() -> None:
    short, long, silent = Caller(NOW, grace=5), Caller(NOW, grace=60), Caller(NOW)
    assert grace_period(a_request({ALICE: short, BOB: long})) == 60
    assert grace_period(a_request({ALICE: short, BOB: silent})) is None
    assert grace_period(a_request({ALICE: short}, "drain.example.com")) is None
    assert grace_period(a_request({ALICE: Caller(NOW, grace=0)})) == 1  # no force deletion in another's name
    assert grace_period(a_request({})) is None


def test_withdrawals() -> None:
    gone, there = Caller(NOW), Caller(NOW + WAIT)
    due = due_withdrawal(a_request({ALICE: gone, BOB: there}), NOW)
    assert (due.names, due.until, due.forbidden) == ((ALICE,), NOW + WAIT, False)
    forbidden = a_request({ALICE: gone}, evictionRequestCancellationPolicy="Forbid")
    assert due_withdrawal(forbidden, NOW).forbidden

    partly = withdrawal_patch(a_request({ALICE: gone, BOB: there}, "drain.example.com"), (ALICE,))
    assert partly["spec"]["requesters"] == [{"name": "drain.example.com"}, {"name": BOB}]
    assert partly["metadata"] == {
        "uid": "r1",
        "resourceVersion": "7",
        "annotations": {CALLERS: written_callers({BOB: there})},
    }
    wholly = withdrawal_patch(a_request({ALICE: gone}), (ALICE,))
    assert wholly["spec"] == {"requesters": []}
    assert wholly["metadata"]["annotations"] == {CALLERS: None}
    assert [one["uid"] for one in wholly["metadata"]["ownerReferences"]] == ["u1"]
    over = {
        "type": "Complete",
        "status": "True",
        "reason": "PodDeleted",
        "lastTransitionTime": "2026-03-01T11:00:00Z",
    }
    frozen = withdrawal_patch(a_request({ALICE: gone}, conditions=[over]), (ALICE,))
    assert "spec" not in frozen
