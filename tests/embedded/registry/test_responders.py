"""Whose word counts in the status of an Eviction, where responders are bound to accounts.

The policy that `vacate install` gives to others, which the embedded server has of itself.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import pytest

from embedded.registry.cases_evictionrequests import condition
from embedded.registry.cases_lifecycle import BEGUN, DONE, FIRST, OPEN, RUNNING, SECOND, at, records, turns
from embedded.registry.given import stored
from vacate.api.identity import StatusAuthority, User
from vacate.api.installednames import RESPONDER_AUTHORITY
from vacate.api.kinds import LIFECYCLE_EVICTIONS as KIND
from vacate.api.objects import Obj
from vacate.embedded.cel.policies import Policy, Review
from vacate.embedded.registry.strategies import strategy_for
from vacate.eviction.dialects.turn_conditions import declined_type, failed_type
from vacate.install.manifests.policies import policies, responder_policy
from vacate.install.settings import Settings

pytestmark = pytest.mark.unit

STRATEGY = strategy_for(KIND)
BACKUP, MANAGER = "system:serviceaccount:shop:backup", "system:serviceaccount:vacate-system:vacate-manager"
UPSTREAM, ALICE = "system:serviceaccount:kube-system:evictionrequest-controller", "alice"
BOUND = {"prepare.first.example.com": (BACKUP,)}  # the name of the first one in Vacate's own APIs

REPORTED = {**RUNNING, "responders": records({**BEGUN, "heartbeatTime": at(0), "message": "half"}, {}, {})}
COMPLETED = {**RUNNING, "responders": records({**BEGUN, "completionTime": at(0)}, {}, {})}
OVER = {**RUNNING, "responders": records(DONE, {}, {})}
NEXT = {
    **RUNNING,
    "targetResponders": turns("Completed", "Active", "Inactive"),
    "responders": records(DONE, {"startTime": at(0)}, {}),
}
FIRST_TURN = {**RUNNING, "responders": records({"startTime": at(0)}, {}, {})}
DONE_BY_NOBODY = {**RUNNING, "responders": records({"startTime": at(0), "completionTime": at(0)}, {}, {})}
LEFT_OUT = {
    "observedGeneration": 1,
    "targetResponders": [{"name": SECOND, "priority": 10_000, "state": "Active"}],
    "responders": [{"name": SECOND, "startTime": at(0)}],
}


def with_conditions(status: Obj, *conditions: Obj) -> Obj:
    """The status with these conditions."""
    return {**status, "conditions": list(conditions)}


def write(before: Obj, after: Obj, user: str, bound: Mapping[str, tuple[str, ...]]) -> str:
    """Why a write of the status is refused; empty where it passes."""
    old = {**stored(KIND), "status": copy.deepcopy(before)}
    new = {**copy.deepcopy(old), "status": copy.deepcopy(after)}
    assert STRATEGY.validate_update(new, old, replace(OPEN, user=User(user), subresource="status")) == []
    policy, _ = responder_policy(bound, StatusAuthority().controllers)
    review = Review({"userInfo": {"username": user}}, new, old)
    found = list(Policy(policy).refusals(review.variables)) if bound else []
    assert {one.reason for one in found} <= {"Forbidden"}
    return found[0].message if found else ""


@pytest.mark.parametrize(
    ("before", "after", "allowed", "refused"),
    [
        (RUNNING, REPORTED, (BACKUP,), (ALICE, MANAGER, UPSTREAM)),
        (RUNNING, COMPLETED, (BACKUP,), (ALICE, MANAGER, UPSTREAM)),
        # A controller begins turns, and hands them over, and nobody else does.
        ({}, FIRST_TURN, (MANAGER, UPSTREAM), (ALICE, BACKUP)),
        (OVER, NEXT, (MANAGER, UPSTREAM), (ALICE, BACKUP)),
        # Nor does a controller skip a bound responder by a turn that is over when it begins.
        ({}, DONE_BY_NOBODY, (), (ALICE, BACKUP, MANAGER)),
        ({}, LEFT_OUT, (MANAGER,), (ALICE, BACKUP)),
        # Conditions of one's own, as interceptors have for turns that failed, are open to all.
        (RUNNING, {**RUNNING, "conditions": [condition("Backup")]}, (ALICE,), ()),
        (NEXT, {**NEXT, "responders": records(DONE, {**BEGUN, "startTime": at(0), "message": "x"}, {})},
         (ALICE,), ()),
        # But for those that speak for a bound responder, whenever they are written, changed or removed.
        *(
            (with_conditions(status, *before), with_conditions(status, *after), (BACKUP, MANAGER), (ALICE,))
            for status in ({}, RUNNING, NEXT)
            for one in (declined_type(FIRST), failed_type(FIRST))
            for before, after in (
                ((), (condition(one),)),
                ((condition(one),), ()),
                ((condition(one),), (condition(one, status="False", lastTransitionTime=at(1)),)),
                ((condition(one),), (condition(one, message="x"), condition("Backup"))),
            )
        ),
        *(
            (with_conditions(RUNNING, *kept), with_conditions(RUNNING, condition(one), *kept), (ALICE,), ())
            for one in (declined_type(SECOND), f"{FIRST}.Ready", f"{FIRST}x.Failed", f"x.{FIRST}.Declined")
            for kept in ((), (condition(failed_type(FIRST)), condition(declined_type(FIRST))))
        ),
    ],
)  # fmt: skip
def test_who_writes_what(before: Obj, after: Obj, allowed: tuple[str, ...], refused: tuple[str, ...]) -> None:
    for user in (*allowed, *refused):
        why = write(before, after, user, BOUND)
        assert bool(why) is (user in refused), (user, why)
        assert write(before, after, user, {}) == "", "where nobody is bound, the API server's rules are all"


def test_the_policy_is_there_where_someone_is_bound() -> None:
    names = [one["metadata"]["name"] for one in policies(Settings(interceptor_accounts=BOUND))]
    assert names.count(RESPONDER_AUTHORITY) == 2
    assert RESPONDER_AUTHORITY not in [one["metadata"]["name"] for one in policies()]
    assert FIRST == "first.example.com/prepare"
