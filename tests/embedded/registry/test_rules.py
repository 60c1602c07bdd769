"""Rules of the embedded server about objects, each with a case that shows it."""

from __future__ import annotations

from typing import Any

import pytest

from embedded.registry import (
    cases_autoscaling,
    cases_batch,
    cases_evictionrequests,
    cases_lifecycle,
    cases_metadata,
    cases_pod_fields,
    cases_pods,
    cases_rbac,
    cases_stateful,
    cases_storage,
    cases_workloads,
)
from embedded.registry import cases_small as small
from embedded.registry.case_types import Broken, BrokenStep, Case, Cases, Done, DoneByStep, Refused
from embedded.registry.given import context, errors_of, found, made, stepped
from vacate.api.kinds import PODS
from vacate.api.types.lifecycle import turn_order
from vacate.errors import ApiError, Invalid

pytestmark = pytest.mark.unit

CASES: Cases = (
    *cases_metadata.CASES, *small.CASES, *cases_rbac.CASES, *cases_workloads.CASES, *cases_autoscaling.CASES,
    *cases_stateful.CASES, *cases_batch.CASES,
    *cases_storage.CASES, *cases_pods.CASES, *cases_evictionrequests.CASES,
    *cases_pod_fields.CASES, *cases_lifecycle.CASES,
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_case(case: Case) -> None:
    match case:
        case Broken():
            assert case.field_error in errors_of(case.kind, case.changes)
        case BrokenStep():
            # What a refused change of a spec shows after its first line is for people to read.
            assert case.field_error in [field_error.partition("\n")[0] for field_error in _step_errors(case)]
        case Done():
            assert found(made(case.kind, case.changes, case.ctx), case.path) == case.value
        case DoneByStep():
            new, _, field_errors = stepped(case.kind, case.step, case.before, context(case.subresource))
            assert found(new, case.path) == case.value
            assert case not in cases_lifecycle.STEPS or not field_errors
        case Refused():
            with pytest.raises(ApiError) as refusal:
                made(case.kind, case.changes, case.ctx)
            assert (refusal.value.status_code, refusal.value.message) == (case.code, case.message)


def _step_errors(case: BrokenStep) -> list[str]:
    try:
        more: dict[str, Any] = {"authority": case.authority} if case.authority else {}
        return stepped(case.kind, case.step, case.before, context(case.subresource, **more))[2]
    except Invalid as refusal:
        return [f"{cause['field']}: {cause['message']}" for cause in refusal.details["causes"]]


@pytest.mark.parametrize(("listed", "field_error"), cases_lifecycle.POD_ERRORS, ids=lambda one: str(one)[:40])
def test_the_responders_of_a_pod_are_checked(listed: list[dict[str, Any]], field_error: str) -> None:
    changes = {"spec.evictionResponders": listed}
    assert f"spec.evictionResponders{field_error}" in errors_of(PODS, changes, cases_lifecycle.OPEN)


def test_equal_priorities_have_turns_by_domain_from_its_top_down() -> None:
    names = ["b.example.com/x", "a.example.org/x", "example.com/z", "a.example.com/y", "a.example.com/x"]
    ordered = sorted(names, key=lambda one: turn_order(one, 10_000))
    assert ordered == [
        "example.com/z",
        "a.example.com/x",
        "a.example.com/y",
        "b.example.com/x",
        "a.example.org/x",
    ]
