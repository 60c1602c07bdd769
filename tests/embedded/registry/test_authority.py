"""Whose word counts in a status: the controller's, a bound account's, and everyone else's."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from embedded.registry.cases_evictionrequests import at, condition
from embedded.registry.given import context, stored
from vacate.admission.context import Context
from vacate.api.identity import StatusAuthority
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.objects import Obj
from vacate.embedded.registry.strategies import strategy_for

pytestmark = pytest.mark.unit

STRATEGY = strategy_for(KIND)
FIRST = "first.example.com"
PROGRESSING = condition("Progressing", reason="Intercepting", lastTransitionTime="2026-08-20T11:59:00.25Z")
ASSIGNED = condition("InterceptorAssigned", reason="FirstInterceptor")
STATUS: Obj = {
    "message": "",
    "evictionRequestCancellationPolicy": "Allow",
    "activeInterceptorName": FIRST,
    "heartbeatTime": at(-60),
    "conditions": [PROGRESSING, ASSIGNED, condition("Backup")],
}


def written(changes: Obj, ctx: Context) -> tuple[Obj, list[str]]:
    """The status after someone else's write, and what is wrong with it."""
    old = {**stored(KIND), "status": copy.deepcopy(STATUS)}
    new = copy.deepcopy(old)
    new["status"].update(copy.deepcopy(changes))
    new["status"] = {key: value for key, value in new["status"].items() if value is not None}
    STRATEGY.default(new, ctx)
    STRATEGY.prepare_update(new, old, ctx)
    return new["status"], [str(field_error) for field_error in STRATEGY.validate_update(new, old, ctx)]


def by_another(interceptors: dict[str, tuple[str, ...]] | None = None) -> Context:
    return context("status", authority=StatusAuthority(("controller",), interceptors or {}))


@pytest.mark.parametrize("given", [[], [condition("Backup", status="False")], None])
def test_a_patch_that_replaces_the_conditions_keeps_the_controllers(given: list[Obj] | None) -> None:
    status, field_errors = written({"conditions": given}, by_another())
    assert field_errors == []
    assert [one for one in status["conditions"] if one["type"] != "Backup"] == [PROGRESSING, ASSIGNED]
    assert [one for one in status["conditions"] if one["type"] == "Backup"] == (given or [])


def test_a_client_that_cuts_times_down_to_seconds_changes_nothing() -> None:
    cut = {**PROGRESSING, "lastTransitionTime": "2026-08-20T11:59:00Z"}
    status, field_errors = written({"conditions": [cut, ASSIGNED, condition("Backup")]}, by_another())
    assert field_errors == []
    assert status["conditions"] == STATUS["conditions"]


def test_the_controller_itself_may_take_conditions_away() -> None:
    status, field_errors = written({"conditions": []}, context("status"))
    assert (status["conditions"], field_errors) == ([], [])


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"activeInterceptorName": None}, ["status.activeInterceptorName"]),
        ({"podEvictionStatus": {"failedAPIEvictionCounter": 7}}, ["status.podEvictionStatus"]),
        ({"conditions": [condition("Complete", reason="PodDeleted")]}, ["status.conditions[2]"]),
        ({"conditions": [{**PROGRESSING, "reason": "Terminating"}]}, ["status.conditions[1]"]),
        ({"conditions": [{**ASSIGNED, "lastTransitionTime": at(-999)}]}, ["status.conditions[1]"]),
        ({"conditions": [condition("Admitted")]}, ["status.conditions[2]"]),
        ({"heartbeatTime": at(0), "message": "half", "activeInterceptorCompleted": True}, []),
        ({"evictionRequestCancellationPolicy": "Forbid", "expectedInterceptorFinishTime": at(99)}, []),
    ],
)
def test_what_an_interceptor_may_write(changes: dict[str, Any], fields: list[str]) -> None:
    _, field_errors = written(changes, by_another())
    assert [field_error.partition(": ")[0] for field_error in field_errors] == fields
    assert all('not by user "ann"' in field_error for field_error in field_errors)


REPORTS = {"heartbeatTime": at(0), "message": "half", "activeInterceptorCompleted": True}


def test_of_a_bound_interceptor_only_its_accounts_report() -> None:
    changes = {**REPORTS, "evictionRequestCancellationPolicy": "Forbid"}
    assert written(changes, by_another({FIRST: ("ann",)}))[1] == []
    assert written(changes, by_another({"another.example.com": ("bob",)}))[1] == []
    refused = written(changes, by_another({FIRST: ("bob",)}))[1]
    assert sorted(field_error.partition(": ")[0] for field_error in refused) == sorted(
        f"status.{one}" for one in changes
    )


def test_everyone_who_writes_statuses_may_allow_cancellation_again() -> None:
    old = {**stored(KIND), "status": {**STATUS, "evictionRequestCancellationPolicy": "Forbid"}}
    new = {**copy.deepcopy(old), "status": copy.deepcopy(STATUS)}
    ctx = by_another({FIRST: ("bob",)})
    STRATEGY.prepare_update(new, old, ctx)
    assert STRATEGY.validate_update(new, old, ctx) == []
