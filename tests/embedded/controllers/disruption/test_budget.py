"""Disruption budgets: what is expected, what is healthy, what may go."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.types import Condition, LabelSelector, ObjectMeta, OwnerReference, Pod, PodDisruptionBudget
from vacate.api.types.core import PodStatus
from vacate.api.types.policy import PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from vacate.embedded.controllers.disruption.budget import (
    DELETION_TIMEOUT,
    ControllerScale,
    ExpectedPods,
    ScaleOf,
    SyncFailure,
    allowed_condition,
    budget_status,
    conditions_for,
    expected_pods,
)
from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value
from vacate.kube.patches import status_difference

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC)
OLD = NOW - dt.timedelta(hours=1)


def pod(name: str, *, owner: str = "rs", ready: bool = True, going: bool = False) -> Pod:
    refs = (
        [OwnerReference(kind="ReplicaSet", name=owner, uid=f"uid-{owner}", controller=True)] if owner else []
    )
    return Pod(
        metadata=ObjectMeta(
            name=name, namespace="d", owner_references=refs, deletion_timestamp=NOW if going else None
        ),
        status=PodStatus(phase="Running", conditions=[Condition(type="Ready", status=str(ready))]),
    )


def pods(count: int, *, owner: str = "rs", ready: bool = True) -> list[Pod]:
    return [pod(f"{owner}-{number}", owner=owner, ready=ready) for number in range(count)]


def pdb(
    min_available: int | str | None = None,
    max_unavailable: int | str | None = None,
    *,
    status: PodDisruptionBudgetStatus | None = None,
    generation: int = 1,
) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="b", namespace="d", uid="u", resource_version="7", generation=generation),
        spec=PodDisruptionBudgetSpec(
            min_available=min_available,
            max_unavailable=max_unavailable,
            selector=LabelSelector(match_labels={"app": "web"}),
        ),
        status=status or PodDisruptionBudgetStatus(),
    )


def scales(**replicas: int) -> ScaleOf:
    def find(ref: OwnerReference, namespace: str) -> ControllerScale | None:
        assert namespace == "d"
        return ControllerScale(ref.uid, replicas[ref.name]) if ref.name in replicas else None

    return find


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [
        (3, 10, 3, 3),
        (0, 10, 0, 0),
        ("0%", 10, 0, 0),
        ("100%", 7, 7, 7),
        ("50%", 7, 4, 3),
        ("33%", 3, 1, 0),
        ("34%", 3, 2, 1),
        ("1%", 1, 1, 0),
        ("10%", 0, 0, 0),
        ("150%", 10, 15, 15),
    ],
)
def test_portions_round_as_asked(value: int | str, total: int, up: int, down: int) -> None:
    assert scaled_value(value, total, round_up=True) == up
    assert scaled_value(value, total, round_up=False) == down


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", 'expected an integer or a percentage, got "5"'),
        ("%", 'expected an integer or a percentage, got "%"'),
        ("x%", 'expected an integer or a percentage, got "x%"'),
        ("1.5%", 'expected an integer or a percentage, got "1.5%"'),
    ],
)
def test_other_text_is_no_portion(text: str, message: str) -> None:
    with pytest.raises(InvalidIntOrPercent) as refused:
        scaled_value(text, 10, round_up=True)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("budget", "replicas", "found", "count", "desired"),
    [
        (pdb(min_available=2), 5, 3, 3, 2),  # whole numbers count the pods there are
        (pdb(min_available=9), 5, 3, 3, 9),
        (pdb(min_available="50%"), 5, 3, 5, 3),  # percentages count the pods there should be
        (pdb(min_available="28%"), 7, 7, 7, 2),
        (pdb(max_unavailable=1), 5, 3, 5, 4),
        (pdb(max_unavailable=9), 5, 3, 5, 0),
        (pdb(max_unavailable="30%"), 5, 5, 5, 3),  # 1.5 rounds up to 2
        (pdb(max_unavailable="0%"), 5, 5, 5, 5),
        (pdb(max_unavailable="100%"), 5, 5, 5, 0),
        (pdb(max_unavailable="1%"), 5, 5, 5, 4),
        (pdb(), 5, 5, 0, 0),
    ],
)
def test_expected_pods(
    budget: PodDisruptionBudget, replicas: int, found: int, count: int, desired: int
) -> None:
    assert expected_pods(budget, pods(found), scales(rs=replicas)) == ExpectedPods(count, desired)


def test_scales_of_several_controllers_add_up() -> None:
    both = pods(2, owner="a") + pods(3, owner="b")
    assert expected_pods(pdb(max_unavailable=1), both, scales(a=4, b=6)) == ExpectedPods(10, 9)


def test_replica_sets_of_one_deployment_count_once() -> None:
    def deployment(ref: OwnerReference, namespace: str) -> ControllerScale:
        return ControllerScale("uid-deployment", 6)

    both = pods(2, owner="old") + pods(3, owner="new")
    assert expected_pods(pdb(max_unavailable=1), both, deployment) == ExpectedPods(6, 5)


def test_unmanaged_pods_do_not_count_and_are_named() -> None:
    mixed = [*pods(2), pod("lonely", owner="")]
    expected = expected_pods(pdb(max_unavailable=1), mixed, scales(rs=2))
    assert expected == ExpectedPods(2, 1, ("lonely",))
    events = budget_status(pdb(max_unavailable=1), mixed, expected, NOW).events
    assert [(one.type, one.reason) for one in events] == [("Warning", "UnmanagedPods")]
    assert "(selector: app=web)" in events[0].message
    # A whole number for minAvailable does not ask for controllers.
    assert expected_pods(pdb(min_available=1), mixed, scales()) == ExpectedPods(3, 1)


def test_a_missing_controller_fails_the_sync() -> None:
    failure = expected_pods(pdb(min_available="50%"), pods(2), scales())
    assert failure == SyncFailure('found no controllers for pod "rs-0"')


def test_a_controller_that_cannot_be_scaled_fails_the_sync() -> None:
    why = SyncFailure("leases.coordination.k8s.io does not implement the scale subresource")
    assert expected_pods(pdb(max_unavailable=1), pods(2), lambda ref, namespace: why) == why


def test_a_broken_percentage_fails_the_sync() -> None:
    failure = expected_pods(pdb(max_unavailable="x"), pods(2), scales(rs=2))
    assert failure == SyncFailure('expected an integer or a percentage, got "x"')


@pytest.mark.parametrize(
    ("healthy", "unready", "desired", "count", "allowed"),
    [
        (3, 0, 2, 3, 1),
        (3, 0, 3, 3, 0),
        (2, 1, 3, 3, 0),  # never negative
        (5, 0, 0, 5, 5),
        (0, 3, 0, 3, 0),
        (3, 0, 0, 0, 0),  # nothing expected: nothing allowed
    ],
)
def test_disruptions_allowed(healthy: int, unready: int, desired: int, count: int, allowed: int) -> None:
    found = pods(healthy, owner="a") + pods(unready, owner="b", ready=False)
    outcome = budget_status(pdb(min_available=1, generation=4), found, ExpectedPods(count, desired), NOW)
    status = outcome.status
    assert (status.current_healthy, status.desired_healthy) == (healthy, desired)
    assert (status.expected_pods, status.disruptions_allowed) == (count, allowed)
    assert status.observed_generation == 4
    assert status.conditions == [
        Condition(
            type="DisruptionAllowed",
            status="True" if allowed else "False",
            reason="SufficientPods" if allowed else "InsufficientPods",
            last_transition_time=NOW,
            observed_generation=4,
        )
    ]
    assert outcome.changed


def test_terminating_pods_are_not_healthy() -> None:
    found = [*pods(2), pod("going", going=True)]
    assert budget_status(pdb(min_available=1), found, ExpectedPods(3, 1), NOW).status.current_healthy == 2


def test_no_pods_is_worth_an_event() -> None:
    events = budget_status(pdb(min_available=1), [], ExpectedPods(0, 1), NOW).events
    assert [(one.type, one.reason, one.message) for one in events] == [
        ("Normal", "NoPods", "No matching pods found")
    ]


def disrupted(age: dt.timedelta) -> PodDisruptionBudget:
    return pdb(min_available=1, status=PodDisruptionBudgetStatus(disrupted_pods={"rs-0": NOW - age}))


@pytest.mark.parametrize(
    ("age", "healthy", "believed"),
    [
        (dt.timedelta(0), 1, True),
        (DELETION_TIMEOUT - dt.timedelta(seconds=1), 1, True),
        (DELETION_TIMEOUT, 2, True),  # at the very moment it counts again and is still listed
        (DELETION_TIMEOUT + dt.timedelta(seconds=1), 2, False),
    ],
)
def test_disrupted_pods_are_believed_in_for_two_minutes(
    age: dt.timedelta, healthy: int, believed: bool
) -> None:
    outcome = budget_status(disrupted(age), pods(2), ExpectedPods(2, 1), NOW)
    assert outcome.status.current_healthy == healthy
    assert list(outcome.status.disrupted_pods) == (["rs-0"] if believed else [])
    assert [one.reason for one in outcome.events] == ([] if believed else ["NotDeleted"])
    if believed:
        assert outcome.recheck_at is not None
        assert outcome.recheck_at > NOW
        assert outcome.recheck_at - (NOW - age + DELETION_TIMEOUT) < dt.timedelta(seconds=1)
    else:
        assert outcome.recheck_at is None
        assert outcome.events[0].message == "Pod was expected by PDB d/b to be deleted but it wasn't"
        assert outcome.events[0].pod == pods(2)[0]


@pytest.mark.parametrize("found", [[pod("rs-0", going=True), pod("rs-1")], [pod("rs-1")]])
def test_a_disruption_that_happened_is_forgotten(found: list[Pod]) -> None:
    outcome = budget_status(disrupted(dt.timedelta(seconds=5)), found, ExpectedPods(2, 1), NOW)
    assert outcome.status.disrupted_pods == {}
    assert outcome.recheck_at is None


def test_the_earliest_disruption_says_when_to_look_again() -> None:
    times = {"rs-0": NOW - dt.timedelta(seconds=30), "rs-1": NOW - dt.timedelta(seconds=90)}
    budget = pdb(min_available=1, status=PodDisruptionBudgetStatus(disrupted_pods=times))
    outcome = budget_status(budget, pods(3), ExpectedPods(3, 1), NOW)
    assert outcome.recheck_at is not None
    assert outcome.recheck_at.replace(microsecond=0) == NOW + dt.timedelta(seconds=30)


def test_a_failed_sync_allows_nothing_and_keeps_the_counts() -> None:
    before = PodDisruptionBudgetStatus(
        observed_generation=2,
        disruptions_allowed=3,
        current_healthy=5,
        desired_healthy=2,
        expected_pods=5,
        conditions=[msgspec.structs.replace(allowed_condition(3, 2), last_transition_time=OLD)],
    )
    budget = pdb(min_available="50%", status=before, generation=3)
    outcome = budget_status(budget, pods(5), SyncFailure("found no controllers"), NOW)
    assert outcome.changed
    assert outcome.status == msgspec.structs.replace(
        before,
        disruptions_allowed=0,
        conditions=[
            Condition(
                type="DisruptionAllowed",
                status="False",
                reason="SyncFailed",
                message="found no controllers",
                last_transition_time=NOW,
                observed_generation=2,
            )
        ],
    )
    assert [one.reason for one in outcome.events] == ["CalculateExpectedPodCountFailed"]
    again = msgspec.structs.replace(budget, status=outcome.status)
    assert not budget_status(again, pods(5), SyncFailure("found no controllers"), NOW).changed


def test_counting_again_changes_nothing() -> None:
    first = budget_status(pdb(min_available=1), pods(3), ExpectedPods(3, 1), OLD)
    settled = pdb(min_available=1, status=first.status)
    second = budget_status(settled, pods(3), ExpectedPods(3, 1), NOW)
    assert not second.changed
    assert second.status == first.status
    assert budget_status(
        pdb(min_available=1, status=first.status, generation=2), pods(3), ExpectedPods(3, 1), NOW
    ).changed


def test_a_condition_keeps_its_time_until_its_status_moves() -> None:
    foreign = Condition(type="Other", status="True")
    one = conditions_for([foreign], allowed_condition(2, 1), OLD)
    assert one[0] is foreign
    same = conditions_for(one, allowed_condition(1, 2), NOW)
    assert (same[1].last_transition_time, same[1].observed_generation) == (OLD, 2)
    moved = conditions_for(same, allowed_condition(0, 2), NOW)
    assert (moved[1].last_transition_time, moved[1].reason) == (NOW, "InsufficientPods")
    assert moved[0] is foreign


def test_the_patch_names_only_what_changes() -> None:
    before = PodDisruptionBudgetStatus(
        disrupted_pods={"gone": OLD, "rs-0": NOW}, conditions=[Condition(type="Other", status="True")]
    )
    budget = pdb(min_available=1, status=before)
    after = budget_status(budget, pods(3), ExpectedPods(3, 1), NOW).status
    assert status_difference(before, after) == {
        "observedGeneration": 1,
        "disruptionsAllowed": 1,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 3,
        "disruptedPods": {"gone": None},
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "status": "True",
                "reason": "SufficientPods",
                "message": "",
                "observedGeneration": 1,
                "lastTransitionTime": "2026-03-01T12:00:00Z",
            }
        ],
    }


@given(
    healthy=st.integers(0, 30),
    unready=st.integers(0, 10),
    replicas=st.integers(0, 40),
    percent=st.integers(0, 100),
)
def test_percentages_never_let_the_application_below_its_floor(
    healthy: int, unready: int, replicas: int, percent: int
) -> None:
    """Allowed disruptions leave at least the asked share, rounded up, of the scale healthy."""
    found = pods(healthy, owner="rs") + pods(unready, owner="rs", ready=False)
    for budget in (pdb(min_available=f"{percent}%"), pdb(max_unavailable=f"{100 - percent}%")):
        expected = expected_pods(budget, found, scales(rs=replicas))
        assert isinstance(expected, ExpectedPods)
        allowed = budget_status(budget, found, expected, NOW).status.disruptions_allowed
        assert 0 <= allowed <= healthy
        if allowed:
            assert healthy - allowed >= expected.desired_healthy
    floor = expected_pods(pdb(min_available=f"{percent}%"), pods(1), scales(rs=replicas))
    assert isinstance(floor, ExpectedPods)
    assert floor.desired_healthy * 100 >= percent * replicas
