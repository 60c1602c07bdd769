"""Every rule has a case that shows it, and the document lists exactly these rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from embedded.registry import (
    cases_autoscaling,
    cases_batch,
    cases_evictionrequests,
    cases_metadata,
    cases_pod_fields,
    cases_pods,
    cases_rbac,
    cases_security,
    cases_stateful,
    cases_storage,
    cases_workloads,
)
from embedded.registry import cases_small as small
from embedded.registry.case_types import Broken, BrokenStep, Case, Cases, Done, DoneByStep, Refused
from embedded.registry.given import context, errors_of, found, made, stepped
from vacate.admission.rules import Rule
from vacate.api.fielderrors import ErrorType
from vacate.embedded.registry.apps.scale import scale_errors
from vacate.embedded.registry.strategies import all_rules
from vacate.errors import ApiError, Invalid

pytestmark = pytest.mark.unit

CASES: Cases = (
    *cases_metadata.CASES, *small.CASES, *cases_rbac.CASES, *cases_workloads.CASES, *cases_autoscaling.CASES,
    *cases_stateful.CASES, *cases_batch.CASES,
    *cases_storage.CASES, *cases_pods.CASES, *cases_evictionrequests.CASES,
    *cases_security.CASES, *cases_pod_fields.CASES,
)  # fmt: skip
RULES = {rule.name: rule for rule in all_rules()}
DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "validation.md"
# Rules about deletion, about other objects, and about one that is no stored kind have tests of their own.
SHOWN_ELSEWHERE = {
    "Scale/spec.replicas/invalid",
    "EvictionRequest/refused/forbid",
    "EvictionRequest/spec.interceptors[].name/forbidden",
    "EvictionRequest/metadata.annotations[vacate.dev/ignored-registration]/set",
    "EvictionRequest/metadata.annotations[vacate.dev/pushed-by]/set",  # test_superseding.py
    "EvictionRequest/metadata.annotations[bridge.vacate.dev/callers]/kept",
    "Job/spec.template/invalid",  # tests/conformance/test_jobs.py: the message shows the whole template
    "Pod/metadata.annotations/set",  # tests/webhook/test_pods.py: by the webhook and by the server
}
# Errors that rules find in places beside the one that they are listed under ("pod affinity too").
_FIELDS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution[0]"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution[0]"
SIBLINGS = {
    "spec.initContainers[0].image",
    "spec.initContainers[0].restartPolicy",
    "spec.initContainers[0].ports[1].hostPort",
    f"spec.affinity.nodeAffinity.{_PREFERRED}.preference.matchExpressions[0].key",
    f"{_FIELDS}.matchFields[0].operator",
    f"{_FIELDS}.matchFields[0].values[0]",
    f"spec.affinity.podAffinity.{_PREFERRED}.weight",
    f"spec.affinity.podAffinity.{_PREFERRED}.podAffinityTerm.topologyKey",
    f"spec.affinity.podAntiAffinity.{_REQUIRED}.namespaceSelector.matchLabels",
}


def test_rules_have_names_of_their_own() -> None:
    assert len(RULES) == len(all_rules())


def test_every_rule_has_a_case_and_every_case_a_rule() -> None:
    shown = {case.rule for case in CASES} | SHOWN_ELSEWHERE
    assert shown - set(RULES) == set()
    assert set(RULES) - shown == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_case(case: Case) -> None:
    match case:
        case Broken():
            assert case.field_error in errors_of(case.kind, case.changes)
            _error_belongs_to(RULES[case.rule], case.field_error)
        case BrokenStep():
            # What a refused change of a spec shows after its first line is for people to read.
            assert case.field_error in [field_error.partition("\n")[0] for field_error in _step_errors(case)]
            _error_belongs_to(RULES[case.rule], case.field_error)
        case Done():
            assert found(made(case.kind, case.changes, case.ctx), case.path) == case.value
        case DoneByStep():
            new, _, _ = stepped(case.kind, case.step, case.before, context(case.subresource))
            assert found(new, case.path) == case.value
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


def _error_belongs_to(rule: Rule, field_error: str) -> None:
    """The rule's row says the truth about field and error."""
    assert isinstance(rule.does, ErrorType)
    path, _, body = field_error.partition(": ")
    assert body.startswith(rule.does.value[1])
    assert _pattern(rule.field).fullmatch(path) or path in SIBLINGS


def _pattern(field: str) -> re.Pattern[str]:
    indexed = re.escape(re.sub(r"\[[^\]]*\]", "[]", field)).replace(r"\[\]", r"\[[^\]]*\]")
    return re.compile(indexed.replace(r"\{\}", "[^.]+"))


def test_a_scale_has_no_negative_replicas() -> None:
    scale = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": -1}}
    expected = "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    assert [str(field_error) for field_error in scale_errors(scale)] == [expected]


def rows() -> list[str]:
    """The document's table as the rules have it."""
    return [
        f"| {rule.kind} | `{rule.field or '(the whole object)'}` | {_escaped(rule.text)} | {rule.effect} |"
        for rule in all_rules()
    ]


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")


def test_the_document_lists_exactly_these_rules() -> None:
    lines = DOCUMENT.read_text().splitlines()
    start = lines.index("| kind | field | rule | error or effect |") + 2
    listed = [line for line in lines[start:] if line.startswith("|")]
    assert listed == rows()
