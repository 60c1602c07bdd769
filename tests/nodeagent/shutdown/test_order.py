"""The order of a shutdown: buckets, allotted times, and what holds for any configuration and any course."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.nodeagent.shutdown.buckets import (
    Bucket,
    Shutdown,
    ShutdownPod,
    advance,
    fit,
    group_pods,
    resume,
    total_seconds,
)
from vacate.nodeagent.shutdown.record import ShutdownRecord
from vacate.wire.json import decode_json

pytestmark = pytest.mark.unit

SEED = [Bucket(100000, 10), Bucket(10000, 180), Bucket(1000, 120), Bucket(0, 60)]


def pod(name: str, priority: int = 0, grace: float = 30) -> ShutdownPod:
    return ShutdownPod(name, "default", name, priority, grace)


@pytest.mark.parametrize(
    ("priority", "bucket"),
    [
        (-(2**31), 0), (-1, 0), (0, 0), (999, 0), (1000, 1000), (9999, 1000), (10000, 10000),
        (99999, 10000), (100000, 100000), (2_000_001_000, 100000),
    ],
)  # fmt: skip
def test_a_pod_joins_the_highest_bucket_at_or_below_it(priority: int, bucket: int) -> None:
    (found,) = [one.bucket.priority for one in group_pods(SEED, [pod("a", priority)]) if one.pods]
    assert found == bucket


def test_a_class_without_an_entry_joins_the_next_lower_one() -> None:
    groups = group_pods([Bucket(100000, 300), Bucket(1000, 120), Bucket(0, 60)], [pod("b", 10000)])
    assert [len(one.pods) for one in groups] == [0, 1, 0]


def test_buckets_end_from_the_lowest_up_and_empty_ones_cost_no_time() -> None:
    pods = [pod("low"), pod("high", 100000, 99), pod("top", 100000, 3)]
    shutdown, orders = advance(Shutdown(group_pods(SEED, pods), 1000.0), 1000.0, ())
    assert [(one.pod.name, one.seconds) for one in orders] == [("low", 30)]
    assert shutdown.deadline == 1060
    assert advance(shutdown, 1059.0, ()) == (shutdown, [])
    shutdown, orders = advance(shutdown, 1005.0, {"low"})
    assert [(one.pod.name, one.seconds, one.bucket) for one in orders] == [
        ("high", 10, 100000),
        ("top", 3, 100000),
    ]
    assert not shutdown.over
    shutdown, orders = advance(shutdown, 1015.0, {"low", "top"})
    assert shutdown.over
    assert not orders


def test_an_agent_that_was_away_goes_on_with_the_time_that_is_left() -> None:
    pods = [pod("slow", 0, 50), pod("quick", 0, 5), pod("next", 1000, 100)]
    shutdown, _ = advance(Shutdown(group_pods(SEED, pods), 0.0), 0.0, ())
    assert [(one.pod.name, one.seconds) for one in resume(shutdown, 20.0, ())] == [("quick", 0), ("slow", 30)]
    # Away beyond the end of a bucket: the next one has what is left of its own time, not all of it.
    shutdown, orders = advance(shutdown, 100.0, {"quick"})
    assert [(one.pod.name, one.seconds) for one in orders] == [("next", 80)]
    assert [(one.pod.name, one.seconds) for one in resume(shutdown, 100.0, {"quick"})] == [
        ("slow", 0),
        ("next", 80),
    ]


def test_interceptors_have_the_bucket_without_the_pods_own_time_and_at_least_half() -> None:
    pods = [replace(pod("quick", 0, 10), interceptors=True), replace(pod("slow", 0, 99), interceptors=True)]
    shutdown, orders = advance(Shutdown(group_pods([Bucket(0, 60)], pods), 0.0), 0.0, ())
    assert [(one.prepare, one.seconds) for one in orders] == [(50, 60), (30, 60)]
    assert [(one.prepare, one.seconds) for one in resume(shutdown, 40.0, ())] == [(10, 20), (0, 20)]


def test_times_are_shortened_in_proportion_when_logind_grants_less() -> None:
    assert fit(SEED, 1000) == tuple(SEED)
    assert fit(SEED, 37) == (Bucket(100000, 1), Bucket(10000, 18), Bucket(1000, 12), Bucket(0, 6))


def seconds(least: int, most: int) -> st.SearchStrategy[float]:
    """Quarters, which add up exactly."""
    return st.integers(4 * least, 4 * most).map(lambda one: one / 4)


buckets = st.lists(
    st.builds(Bucket, st.integers(-1000, 1000), seconds(0, 100)),
    max_size=6,
    unique_by=lambda one: one.priority,
)
pods = st.lists(
    st.builds(pod, st.integers(0, 10**6).map(str), st.integers(-2000, 2000), seconds(0, 200)),
    max_size=12, unique_by=lambda one: one.name,
)  # fmt: skip


@given(buckets, pods)
def test_every_pod_is_in_exactly_one_bucket(made: list[Bucket], given_pods: list[ShutdownPod]) -> None:
    groups = group_pods(made, given_pods)
    inside = [one.uid for group in groups for one in group.pods]
    assert sorted(inside) == sorted(one.uid for one in given_pods if made)
    values = [group.bucket.priority for group in groups]
    assert values == sorted(values)
    for number, group in enumerate(groups):
        for one in group.pods:
            assert number == 0 or one.priority >= group.bucket.priority
            assert number + 1 == len(groups) or one.priority < groups[number + 1].bucket.priority


@pytest.mark.thorough
@given(buckets, pods, st.data())
def test_never_before_its_bucket_never_longer_than_the_sum_and_nothing_skipped(
    made: list[Bucket], given_pods: list[ShutdownPod], data: st.DataObject
) -> None:
    """Any course: pods end when they like, the agent looks when it can and restarts when it must."""
    shutdown = Shutdown(group_pods(made, given_pods), 0.0)
    ended_at = {one.uid: data.draw(seconds(0, 150), label=one.uid) for one in given_pods}
    asked: dict[str, float] = {}
    now = 0.0
    limit = total_seconds(made)
    while True:
        gone = {uid for uid, at in asked.items() if at + ended_at[uid] <= now}
        shutdown, orders = advance(shutdown, now, gone)
        for order in orders:
            uid = order.pod.uid
            assert uid not in asked
            asked[uid] = now
            assert 0 <= order.seconds <= order.pod.grace_seconds
            upto = 0.0
            for group in shutdown.groups:
                upto += group.bucket.seconds
                if group.bucket.priority >= order.bucket:
                    break
                for one in group.pods:  # all were asked, and are gone or had their bucket's time
                    until = min(asked[one.uid] + group.bucket.seconds, upto)
                    assert one.uid in gone or now >= until
        if shutdown.over:
            break
        assert shutdown.deadline <= max(limit, now) + 1e-6
        if data.draw(st.booleans(), label="restart"):
            record = ShutdownRecord(boot="b", shutdown=shutdown, gone=tuple(sorted(gone)))
            assert decode_json(msgspec.json.encode(record), ShutdownRecord) == record
        step = seconds(1, 50)
        now = (
            min(now + data.draw(step, label="pause"), shutdown.deadline)
            if data.draw(st.integers(0, 9), label="late")
            else now + data.draw(step, label="away")
        )
    assert set(asked) == {one.uid for one in given_pods if made}
