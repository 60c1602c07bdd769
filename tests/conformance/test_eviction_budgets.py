"""Which budget covers a pod, when it refuses, and in which words."""

from __future__ import annotations

import pytest

from support.arms.arm import Obj
from support.arms.caseapi import CaseApi
from support.arms.eviction import WOULD_VIOLATE, allowed_now, budgeted, evict, running
from support.arms.marks import CONFORMANCE
from support.arms.objects import condition
from vacate.api.kinds import PODS

pytestmark = CONFORMANCE


def refusing(reason: str, message: str) -> list[Obj]:
    return [condition("DisruptionAllowed", "False", reason=reason, message=message)]


CURRENTLY = "The disruption budget b does not allow evicting pods currently"
SPENT: dict[str, tuple[Obj, str]] = {
    "too-few-healthy": (
        {"currentHealthy": 2, "desiredHealthy": 3},
        "The disruption budget b needs 3 healthy pods and has 2 currently",
    ),
    "just-enough-healthy": (
        {"currentHealthy": 3, "desiredHealthy": 3},
        "The disruption budget b needs 3 healthy pods and has 3 currently",
    ),
    "failed-sync": (
        {
            "currentHealthy": 0,
            "desiredHealthy": 3,
            "conditions": refusing("SyncFailed", "no controllers found"),
        },
        f"{CURRENTLY} because it failed sync: no controllers found",
    ),
    "enough-healthy-and-a-reason": (
        {"currentHealthy": 4, "desiredHealthy": 3, "conditions": refusing("Maintenance", "not today")},
        f"{CURRENTLY} (Maintenance): not today",
    ),
    "enough-healthy-and-no-reason": ({"currentHealthy": 4, "desiredHealthy": 3}, CURRENTLY),
}


@pytest.mark.parametrize("case", SPENT)
async def test_a_spent_budget_says_why(api: CaseApi, case: str) -> None:
    status, message = SPENT[case]
    await running(api)
    await budgeted(api, 0, status=status)
    answer = (await evict(api)).refused(429, "TooManyRequests", WOULD_VIOLATE)
    answer.caused_by(("DisruptionBudget", message))
    assert answer.header("Retry-After") is None
    assert "deletionTimestamp" not in (await api.get(PODS, "p"))["metadata"]


SELECTORS: dict[str, tuple[Obj, bool]] = {
    "its-labels": ({"selector": {"matchLabels": {"app": "web"}}}, True),
    "other-labels": ({"selector": {"matchLabels": {"app": "db"}}}, False),
    "everything": ({"selector": {}}, True),
    "none": ({"selector": None}, False),
    "expression": (
        {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}},
        True,
    ),
    "negative-expression": (
        {"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}},
        False,
    ),
}


@pytest.mark.parametrize("case", SELECTORS)
async def test_whom_a_budget_covers(api: CaseApi, case: str) -> None:
    spec, covered = SELECTORS[case]
    await running(api)
    await budgeted(api, 0, spec=spec)
    answer = await evict(api)
    if covered:
        answer.refused(429, "TooManyRequests", WOULD_VIOLATE)
    else:
        answer.ok(201)


async def test_budgets_of_other_namespaces_do_not_count(api: CaseApi) -> None:
    await running(api)
    (await evict(api)).ok(201)


# The policy, the budget's status, whether the eviction goes, and what is left of the budget.
UNREADY: dict[str, tuple[str | None, Obj, bool, int]] = {
    "always-below": ("AlwaysAllow", {"currentHealthy": 1, "desiredHealthy": 2}, True, 0),
    "always-with-budget": (
        "AlwaysAllow",
        {"currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1},
        True,
        1,
    ),
    "if-healthy-below": ("IfHealthyBudget", {"currentHealthy": 1, "desiredHealthy": 2}, False, 0),
    "if-healthy-enough": ("IfHealthyBudget", {"currentHealthy": 2, "desiredHealthy": 2}, True, 0),
    "unset-below": (None, {"currentHealthy": 1, "desiredHealthy": 2}, False, 0),
    "unset-enough": (None, {"currentHealthy": 2, "desiredHealthy": 2}, True, 0),
    "unset-nothing-wanted": (None, {"currentHealthy": 0, "desiredHealthy": 0}, False, 0),
    "unset-with-budget": (
        None,
        {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 1},
        True,
        0,
    ),
}


@pytest.mark.parametrize("case", UNREADY)
async def test_a_pod_that_is_not_ready(api: CaseApi, case: str) -> None:
    policy, status, goes, left = UNREADY[case]
    await running(api, ready=False)
    spec = {"unhealthyPodEvictionPolicy": policy} if policy else {}
    await budgeted(api, 0, spec=spec, status=status)
    answer = await evict(api)
    if goes:
        answer.ok(201)
    else:
        answer.refused(429, "TooManyRequests", WOULD_VIOLATE)
    assert await allowed_now(api) == left


@pytest.mark.parametrize("policy", ["AlwaysAllow", "IfHealthyBudget"])
async def test_a_ready_pod_is_always_budgeted(api: CaseApi, policy: str) -> None:
    await running(api)
    await budgeted(api, 0, spec={"unhealthyPodEvictionPolicy": policy}, status={"desiredHealthy": 3})
    (await evict(api)).refused(429, "TooManyRequests", WOULD_VIOLATE)
