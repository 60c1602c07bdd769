"""Whether a pod may be evicted: the order of questions, every refusal, what it costs."""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.times import format_time
from vacate.embedded.apiserver.subresources.evictiondecision import (
    Eviction,
    decide_eviction,
    mark_for_eviction,
    merge_dry_run,
    spend,
)
from vacate.errors import ApiError, Conflict, Forbidden, InternalError, NotFound, TooManyRequests
from vacate.kube.eviction import MAX_DISRUPTED_PODS, bypasses_budgets, selects

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC)
STAMP = "2026-03-01T12:00:00Z"
VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
DRY = DeleteOptions(dry_run=("All",))
MARKER = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"


def pod(phase: str = "Running", *, ready: bool | None = True, going: bool = False) -> Obj:
    meta: Obj = {"name": "p", "namespace": "d", "labels": {"app": "web"}, "resourceVersion": "5", "uid": "u"}
    if going:
        meta["deletionTimestamp"] = STAMP
    conditions = [] if ready is None else [{"type": "Ready", "status": "True" if ready else "False"}]
    return {"metadata": meta, "spec": {}, "status": {"phase": phase, "conditions": conditions}}


def pdb(*, policy: str | None = None, selector: Any = "web", generation: int = 1, **status: Any) -> Obj:
    spec: Obj = {"minAvailable": 1}
    if selector == "web":
        spec["selector"] = {"matchLabels": {"app": "web"}}
    elif selector is not None:
        spec["selector"] = selector
    if policy:
        spec["unhealthyPodEvictionPolicy"] = policy
    counts = {
        "observedGeneration": 1,
        "disruptionsAllowed": 1,
        "currentHealthy": 3,
        "desiredHealthy": 2,
        "expectedPods": 3,
        **status,
    }
    return {
        "metadata": {"name": "b", "namespace": "d", "generation": generation},
        "spec": spec,
        "status": counts,
    }


def condition(status: str, reason: str, message: str = "") -> list[Obj]:
    return [{"type": "DisruptionAllowed", "status": status, "reason": reason, "message": message}]


def refused(a_pod: Obj, budgets: list[Obj], options: DeleteOptions | None = None) -> ApiError:
    with pytest.raises(ApiError) as caught:
        decide_eviction(a_pod, budgets, options or DeleteOptions(), NOW)
    return caught.value


# Who asks a budget


@pytest.mark.parametrize(
    ("a_pod", "bypasses"),
    [
        (pod("Pending", ready=None), True),
        (pod("Succeeded", ready=False), True),
        (pod("Failed", ready=False), True),
        (pod("Running", going=True), True),
        (pod("Pending", going=True), True),
        (pod("Running"), False),
        (pod("Running", ready=False), False),
        (pod("Unknown"), False),
        (pod(""), False),
    ],
)
def test_who_bypasses_budgets(a_pod: Obj, bypasses: bool) -> None:
    assert bypasses_budgets(a_pod) is bypasses


@pytest.mark.parametrize("budgets", [[], [pdb(disruptionsAllowed=0)], [pdb(), pdb()]])
@pytest.mark.parametrize(
    "a_pod", [pod("Succeeded"), pod("Failed"), pod("Running", going=True), pod("Pending", going=True)]
)
def test_what_has_ended_goes_without_any_budget(a_pod: Obj, budgets: list[Obj]) -> None:
    assert decide_eviction(a_pod, budgets, DeleteOptions(), NOW) == Eviction(DeleteOptions())


def test_a_pending_pod_goes_only_as_it_is_now() -> None:
    decided = decide_eviction(pod("Pending", ready=None), [pdb(disruptionsAllowed=0)], DeleteOptions(), NOW)
    assert decided == Eviction(DeleteOptions(resource_version="5"))


def test_a_version_that_the_client_named_for_a_pending_pod_stays() -> None:
    asked = DeleteOptions(uid="u", resource_version="4")
    assert decide_eviction(pod("Pending", ready=None), [], asked, NOW).options == asked


def test_without_a_budget_a_pod_goes() -> None:
    assert decide_eviction(pod(), [], DeleteOptions(), NOW) == Eviction(DeleteOptions())


# Which budgets cover a pod


@pytest.mark.parametrize(
    ("selector", "covers"),
    [
        ("web", True),
        ({}, True),  # policy/v1
        ({"matchExpressions": [{"key": MARKER, "operator": "Exists"}]}, False),  # stored from policy/v1beta1
        (None, False),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Sideways"}]}, False),  # invalid: ignored
        ({"matchExpressions": [{"key": "app", "operator": "In"}]}, False),
        ({"matchLabels": {"app": "not a value!"}}, False),
    ],
)
def test_selection(selector: Any, covers: bool) -> None:
    assert selects(pdb(selector=selector), pod()) is covers


def test_a_pod_without_labels_is_covered_by_an_empty_selector_only() -> None:
    bare = pod()
    del bare["metadata"]["labels"]
    assert selects(pdb(selector={}), bare)
    assert not selects(pdb(), bare)


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize("policy", [None, "AlwaysAllow"])
def test_two_budgets_are_an_error_of_the_server(policy: str | None, ready: bool) -> None:
    error = refused(pod(ready=ready), [pdb(policy=policy), pdb(policy=policy)])
    assert isinstance(error, InternalError)
    assert (error.status_code, error.reason, error.details) == (500, "", {})
    assert error.message == (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )


# Unready pods


@pytest.mark.parametrize(
    ("policy", "current", "desired", "free"),
    [
        ("AlwaysAllow", 0, 2, True),
        ("AlwaysAllow", 3, 0, True),
        (None, 2, 2, True),
        ("IfHealthyBudget", 3, 2, True),
        (None, 1, 2, False),
        ("IfHealthyBudget", 1, 2, False),
        (None, 0, 0, False),  # a budget that wants nothing gives nothing away
        ("IfHealthyBudget", 5, 0, False),
    ],
)
@pytest.mark.parametrize("ready", [False, None])
def test_unready_pods(policy: str | None, current: int, desired: int, free: bool, ready: bool | None) -> None:
    budget = pdb(policy=policy, currentHealthy=current, desiredHealthy=desired, disruptionsAllowed=0)
    if not free:
        assert isinstance(refused(pod(ready=ready), [budget]), TooManyRequests)
        return
    decided = decide_eviction(pod(ready=ready), [budget], DeleteOptions(), NOW)
    pinned = DeleteOptions(resource_version="5")
    assert decided == Eviction(pinned, budget=None, spared="b")


@pytest.mark.parametrize("policy", [None, "IfHealthyBudget", "AlwaysAllow"])
def test_ready_pods_are_always_budgeted(policy: str | None) -> None:
    assert isinstance(refused(pod(), [pdb(policy=policy, disruptionsAllowed=0)]), TooManyRequests)


def test_a_conflict_over_an_unready_pod_sends_the_client_round_again() -> None:
    decided = decide_eviction(pod(ready=False), [pdb()], DeleteOptions(), NOW)
    error = decided.explain(Conflict("it changed"), DeleteOptions())
    assert isinstance(error, TooManyRequests)
    assert error.retry_after_seconds == 10
    missing = NotFound("gone")
    assert decided.explain(missing, DeleteOptions()) is missing
    conflict = Conflict("it changed")
    named = DeleteOptions(resource_version="4")
    assert decided.explain(conflict, named) is conflict
    assert Eviction(DeleteOptions()).explain(conflict, DeleteOptions()) is conflict


# What a budget says


def test_a_stale_status_asks_to_wait() -> None:
    error = refused(pod(), [pdb(generation=2, disruptionsAllowed=-1)])
    assert isinstance(error, TooManyRequests)
    assert error.message == VIOLATE
    assert error.details == {
        "causes": [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget b is still being processed by the server.",
            }
        ],
        "retryAfterSeconds": 10,
    }


def test_a_budget_without_any_status_is_stale() -> None:
    budget = pdb()
    del budget["status"]
    assert refused(pod(), [budget]).retry_after_seconds == 10


def test_a_negative_budget_is_forbidden() -> None:
    error = refused(pod(), [pdb(disruptionsAllowed=-1)])
    assert isinstance(error, Forbidden)
    assert error.message == (
        'poddisruptionbudget.policy "b" is forbidden: pdb disruptions allowed is negative'
    )
    assert error.details is not None
    assert [one["message"] for one in error.details["causes"]] == [
        "The disruption budget b does not allow evicting pods currently: pdb disruptions allowed is negative"
    ]


def test_too_many_unconfirmed_evictions_are_forbidden() -> None:
    many = {f"p{number}": STAMP for number in range(MAX_DISRUPTED_PODS)}
    assert decide_eviction(pod(), [pdb(disruptedPods=many)], DeleteOptions(), NOW).budget is not None
    error = refused(pod(), [pdb(disruptedPods={**many, "more": STAMP})])
    assert isinstance(error, Forbidden)
    assert error.message == (
        'poddisruptionbudget.policy "b" is forbidden: '
        "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
    )
    assert error.details is not None
    (cause,) = error.details["causes"]
    assert cause["message"].endswith(": too many pending evictions not confirmed by PDB controller")


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (
            {"currentHealthy": 2, "conditions": condition("False", "SyncFailed", "no controllers")},
            "does not allow evicting pods currently because it failed sync: no controllers",
        ),
        ({"currentHealthy": 2}, "needs 2 healthy pods and has 2 currently"),
        ({"currentHealthy": 1}, "needs 2 healthy pods and has 1 currently"),
        (
            {"currentHealthy": 1, "conditions": condition("False", "InsufficientPods")},
            "needs 2 healthy pods and has 1 currently",
        ),
        (
            {"currentHealthy": 2, "conditions": condition("False", "SyncFailed", "")},
            "needs 2 healthy pods and has 2 currently",
        ),
        (
            {"conditions": condition("False", "InsufficientPods", "a controller says so")},
            "does not allow evicting pods currently (InsufficientPods): a controller says so",
        ),
        ({"conditions": condition("True", "SufficientPods", "x")}, "does not allow evicting pods currently"),
        ({}, "does not allow evicting pods currently"),
    ],
)
def test_a_spent_budget_says_why(status: Obj, cause: str) -> None:
    error = refused(pod(), [pdb(disruptionsAllowed=0, **status)])
    assert isinstance(error, TooManyRequests)
    assert error.message == VIOLATE
    assert error.retry_after_seconds is None
    message = f"The disruption budget b {cause}"
    assert error.details == {"causes": [{"reason": "DisruptionBudget", "message": message}]}


# What it costs


def test_an_eviction_spends_before_the_pod_goes() -> None:
    budget = pdb(disruptionsAllowed=2)
    before = copy.deepcopy(budget)
    decided = decide_eviction(pod(), [budget], DeleteOptions(), NOW)
    assert decided.options == DeleteOptions()
    assert decided.budget == {
        **budget,
        "status": {**budget["status"], "disruptionsAllowed": 1, "disruptedPods": {"p": STAMP}},
    }
    assert budget == before


def test_the_last_disruption_turns_the_condition() -> None:
    conditions = [
        {"type": "Foreign", "status": "True"},
        *condition("True", "SufficientPods"),
    ]
    conditions[1]["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    after = spend(pdb(disruptionsAllowed=1, conditions=conditions, disruptedPods={"q": STAMP}), "p", NOW)
    assert after["status"]["disruptedPods"] == {"q": STAMP, "p": STAMP}
    assert after["status"]["disruptionsAllowed"] == 0
    assert after["status"]["conditions"] == [
        {"type": "Foreign", "status": "True"},
        {
            "type": "DisruptionAllowed",
            "status": "False",
            "reason": "InsufficientPods",
            "message": "",
            "observedGeneration": 1,
            "lastTransitionTime": STAMP,
        },
    ]


def test_a_dry_run_asks_and_does_not_spend() -> None:
    assert decide_eviction(pod(), [pdb()], DRY, NOW) == Eviction(DRY)
    assert isinstance(refused(pod(), [pdb(disruptionsAllowed=0)], DRY), TooManyRequests)


@pytest.mark.parametrize(
    ("asked", "written", "merged"),
    [
        ((), None, DeleteOptions()),
        (("All",), None, DRY),
        (
            ("All",),
            DeleteOptions(grace_period_seconds=3),
            DeleteOptions(grace_period_seconds=3, dry_run=("All",)),
        ),
        ((), DRY, DRY),
        (("All",), DRY, DRY),
    ],
)
def test_dry_runs_merge(asked: tuple[str, ...], written: DeleteOptions | None, merged: DeleteOptions) -> None:
    assert merge_dry_run(asked, written) == merged


def test_dry_runs_that_differ() -> None:
    with pytest.raises(InternalError) as caught:
        merge_dry_run(("All",), DeleteOptions(dry_run=("All", "All")))
    assert caught.value.reason == ""
    assert caught.value.message == (
        "Non-matching dry-run options in request and content: [All] and [All All]"
    )


# The mark


def test_the_mark_on_the_pod() -> None:
    before = pod()
    marked = mark_for_eviction(before, NOW)
    assert marked["status"]["conditions"] == [
        {"type": "Ready", "status": "True"},
        {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": STAMP,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        },
    ]
    assert len(before["status"]["conditions"]) == 1
    assert mark_for_eviction(marked, NOW + dt.timedelta(hours=1)) == marked


def test_the_mark_replaces_another_reason() -> None:
    a_pod = pod()
    other = {"type": "DisruptionTarget", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    a_pod["status"]["conditions"].insert(0, other)
    first = mark_for_eviction(a_pod, NOW)["status"]["conditions"][0]
    assert (first["status"], first["reason"]) == ("True", "EvictionByEvictionAPI")
    assert first["lastTransitionTime"] == STAMP


@given(allowed=st.integers(0, 6), order=st.permutations(range(10)))
def test_a_budget_is_never_overspent_in_a_row(allowed: int, order: list[int]) -> None:
    budget, evicted = pdb(disruptionsAllowed=allowed), []
    for number in order:
        a_pod = pod()
        a_pod["metadata"]["name"] = f"p{number}"
        try:
            decided = decide_eviction(a_pod, [budget], DeleteOptions(), NOW)
        except TooManyRequests:
            continue
        assert decided.budget is not None
        budget = decided.budget
        evicted.append(a_pod["metadata"]["name"])
    assert evicted == [f"p{number}" for number in order[:allowed]]
    status = budget["status"]
    assert status["disruptionsAllowed"] == 0
    assert status.get("disruptedPods", {}) == dict.fromkeys(evicted, format_time(NOW))
