"""Jobs: what the server adds, what it refuses, and what becomes of pods when a Job is deleted."""

from __future__ import annotations

import pytest

from support.arms.arm import JSON_PATCH, Answer, Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import cron_job, job
from vacate.api.kinds import CRONJOBS, JOBS

pytestmark = CONFORMANCE

_UID, _NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"


def causes_of(refusal: Answer, wanted: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Reason and field of each cause. kubectl shows the fields only: there the reasons are as wanted."""
    if refusal.details is not None:
        return [(one["reason"], one["field"]) for one in refusal.details["causes"]]
    reasons = {field: reason for reason, field in wanted}
    fields = [one.partition(":")[0] for one in refusal.field_errors]
    return [(reasons.get(field, "unexpected"), field) for field in fields]


async def test_a_job_finds_its_pods_by_its_uid(api: CaseApi) -> None:
    created = await api.create(JOBS, job("j", suspend=True))
    uid = created["metadata"]["uid"]
    labels = {_UID: uid, _NAME: "j", "controller-uid": uid, "job-name": "j"}
    spec = created["spec"]
    template = spec["template"]["metadata"]["labels"]
    assert spec["selector"] == {"matchLabels": {_UID: uid}}
    assert labels.items() <= template.items()
    read = await api.get(JOBS, "j")
    assert read["metadata"]["labels"] == template
    defaults = {
        "backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1, "manualSelector": False,
        "parallelism": 1, "podReplacementPolicy": "TerminatingOrFailed",
    }  # fmt: skip
    assert {key: spec.get(key) for key in defaults} == defaults


REFUSED: dict[str, tuple[Obj, list[tuple[str, str]]]] = {
    "counts": (
        {"parallelism": -1, "backoffLimit": -1, "activeDeadlineSeconds": -1, "ttlSecondsAfterFinished": -1},
        [
            ("FieldValueInvalid", "spec.parallelism"),
            ("FieldValueInvalid", "spec.activeDeadlineSeconds"),
            ("FieldValueInvalid", "spec.backoffLimit"),
            ("FieldValueInvalid", "spec.ttlSecondsAfterFinished"),
        ],
    ),
    "mode": ({"completionMode": "x"}, [("FieldValueNotSupported", "spec.completionMode")]),
    "replacement": (
        {"podReplacementPolicy": "x"},
        [("FieldValueNotSupported", "spec.podReplacementPolicy")],
    ),
    "indexed": (
        {"completionMode": "Indexed", "parallelism": 1},
        [("FieldValueRequired", "spec.completions")],
    ),
    "no-selector": (
        {"manualSelector": True},
        [
            ("FieldValueRequired", "spec.selector"),
            ("FieldValueInvalid", "spec.template.metadata.labels"),
        ],
    ),
    "foreign-selector": (
        {"selector": {"matchLabels": {"a": "b"}}},
        [
            ("FieldValueInvalid", "spec.selector"),
            ("FieldValueInvalid", "spec.template.metadata.labels"),
        ],
    ),
    "always": (
        {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
        [("FieldValueRequired", "spec.template.spec.restartPolicy")],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_refused(api: CaseApi, case: str) -> None:
    spec, causes = REFUSED[case]
    answer = (await api.post(JOBS, job("j", **spec))).refused(422, "Invalid")
    assert causes_of(answer, causes) == causes


@pytest.mark.parametrize(
    ("suspended", "change", "field"),
    [
        (True, {"completions": 3}, "spec.completions"),
        (True, {"completionMode": "Indexed"}, "spec.completionMode"),
        (True, {"template": {"spec": {"terminationGracePeriodSeconds": 3}}}, "spec.template.spec"),
        (False, {"template": {"spec": {"terminationGracePeriodSeconds": 3}}}, "spec.template"),
        (False, {"template": {"metadata": {"annotations": {"a": "b"}}}}, "spec.template"),
    ],
    ids=["completions", "mode", "suspended-template", "template", "labels"],
)
async def test_what_was_begun_goes_on_as_it_is(
    api: CaseApi, suspended: bool, change: Obj, field: str
) -> None:
    await api.given(JOBS, job("j", suspend=suspended))
    answer = (await api.patch(JOBS, "j", {"spec": change})).refused(422, "Invalid")
    cause = ("FieldValueInvalid", field)
    assert cause in causes_of(answer, [cause])


async def test_a_suspended_job_may_be_placed_elsewhere(api: CaseApi) -> None:
    await api.given(JOBS, job("j", suspend=True))
    place: Obj = {"template": {"spec": {"nodeSelector": {"a": "b"}}}}
    changed = (await api.patch(JOBS, "j", {"spec": place})).ok()
    assert changed["spec"]["template"]["spec"]["nodeSelector"] == {"a": "b"}


async def test_a_cron_job_needs_a_schedule(api: CaseApi) -> None:
    answer = (await api.post(CRONJOBS, cron_job("c", schedule=""))).refused(422, "Invalid")
    causes = [("FieldValueRequired", "spec.schedule")]
    assert causes_of(answer, causes) == causes


@pytest.mark.parametrize(
    ("query", "finalizer"),
    [({}, "orphan"), ({"propagationPolicy": "Foreground"}, "foregroundDeletion")],
    ids=["by-default", "foreground"],
)
async def test_pods_outlive_a_job_unless_the_client_says_otherwise(
    api: CaseApi, query: dict[str, str], finalizer: str
) -> None:
    held = job("j", suspend=True)
    held["metadata"]["finalizers"] = ["example.com/held"]
    await api.given(JOBS, held)
    marked = (await api.ask("DELETE", JOBS, "j", query=query)).ok()
    assert set(marked["metadata"]["finalizers"]) == {"example.com/held", finalizer}
    gone = [{"op": "remove", "path": "/metadata/finalizers"}]
    (await api.patch(JOBS, "j", gone, JSON_PATCH)).ok()
