"""Cases of Jobs, CronJobs and PodTemplates. The messages are those of a real server."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep
from embedded.registry.cases_workloads import NEGATIVE
from vacate.api.kinds import CRONJOBS, JOBS, PODTEMPLATES

_J, _C, _P = "Job/", "CronJob/", "PodTemplate/"
_UID, _NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
_LABELS = {_UID: "u-1", _NAME: "import", "controller-uid": "u-1", "job-name": "import"}
_MANUAL = {"spec.manualSelector": True, "spec.template.metadata.labels": {"a": "b"}}
_INNER = "spec.jobTemplate.spec"

JOB_CASES: Cases = (
    Done(f"{_J}spec.parallelism/default", JOBS, {"spec.completions": 3}, "spec.parallelism", 1),
    Done(f"{_J}spec.completions/default", JOBS, {}, "spec.completions", 1),
    Done(f"{_J}spec.completions/default", JOBS, {"spec.parallelism": 2}, "spec.completions", None),
    Done(f"{_J}spec.backoffLimit/default", JOBS, {}, "spec.backoffLimit", 6),
    Done(f"{_J}spec.completionMode/default", JOBS, {}, "spec.completionMode", "NonIndexed"),
    Done(f"{_J}spec.suspend/default", JOBS, {}, "spec.suspend", False),
    Done(f"{_J}spec.manualSelector/default", JOBS, {}, "spec.manualSelector", False),
    Done(f"{_J}spec.podReplacementPolicy/default", JOBS, {}, "spec.podReplacementPolicy", "TerminatingOrFailed"),
    Done(f"{_J}spec.podReplacementPolicy/default", JOBS, {"spec.podFailurePolicy.rules": []}, "spec.podReplacementPolicy", "Failed"),
    Done(f"{_J}metadata.labels/default", JOBS, {}, "metadata.labels", _LABELS),
    Done(f"{_J}metadata.labels/default", JOBS, {"metadata.labels": {"a": "b"}}, "metadata.labels", {"a": "b"}),
    Done(f"{_J}spec.selector/set", JOBS, {}, "spec.selector", {"matchLabels": {_UID: "u-1"}}),
    Done(f"{_J}spec.template.metadata.labels/set", JOBS, {}, "spec.template.metadata.labels", _LABELS),
    Done(f"{_J}spec.template.metadata.labels/set", JOBS, _MANUAL, "spec.template.metadata.labels", {"a": "b"}),
    Done(f"{_J}status/dropped", JOBS, {"status": {"active": 3}}, "status", {}),
    DoneByStep(f"{_J}metadata.generation/set", JOBS, {"spec.parallelism": 2}, "metadata.generation", 2),
    DoneByStep(f"{_J}status/kept", JOBS, {"status.active": 3}, "status", {}),
    DoneByStep(f"{_J}spec/kept", JOBS, {"spec.parallelism": 3}, "spec.parallelism", 1, subresource="status"),
    BrokenStep(f"{_J}status.active/invalid", JOBS, {"status.active": -1},
               f"status.active: Invalid value: -1: {NEGATIVE}", subresource="status"),
)  # fmt: skip

CRONJOB_CASES: Cases = (
    Done(f"{_C}spec.concurrencyPolicy/default", CRONJOBS, {}, "spec.concurrencyPolicy", "Allow"),
    Done(f"{_C}spec.suspend/default", CRONJOBS, {}, "spec.suspend", False),
    Done(f"{_C}spec.successfulJobsHistoryLimit/default", CRONJOBS, {}, "spec.successfulJobsHistoryLimit", 3),
    Done(f"{_C}spec.failedJobsHistoryLimit/default", CRONJOBS, {}, "spec.failedJobsHistoryLimit", 1),
    Done(f"{_C}status/dropped", CRONJOBS, {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}, "status", {}),
    DoneByStep(f"{_C}metadata.generation/set", CRONJOBS, {"spec.suspend": True}, "metadata.generation", 2),
    DoneByStep(f"{_C}status/kept", CRONJOBS, {"status.lastScheduleTime": "2026-01-01T00:00:00Z"}, "status", {}),
    DoneByStep(f"{_C}spec/kept", CRONJOBS, {"spec.suspend": True}, "spec.suspend", False, subresource="status"),
    Broken(f"{_C}metadata.name/invalid", CRONJOBS, {"metadata.name": "x" * 53},
           f'metadata.name: Invalid value: "{"x" * 53}": must be no more than 52 characters'),
    Broken(f"{_C}{_INNER}.template.spec.restartPolicy/required", CRONJOBS, {f"{_INNER}.template.spec.restartPolicy": "Always"},
           f'{_INNER}.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'),
    DoneByStep(f"{_P}metadata.generation/set", PODTEMPLATES, {"template.metadata.labels": {"a": "b"}}, "metadata.generation", 2),
    Broken(f"{_P}template.spec.containers/required", PODTEMPLATES, {"template.spec.containers": []},
           "template.spec.containers: Required value"),
)  # fmt: skip

CASES: Cases = (*JOB_CASES, *CRONJOB_CASES)
