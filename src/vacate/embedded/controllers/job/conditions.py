"""PURE. Whether a Job has succeeded or failed, and the conditions that say so."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api import times
from vacate.api.types import Condition, Job, condition
from vacate.embedded.controllers.job.tracking import PodCounts

SUCCESS_CRITERIA_MET, COMPLETE = "SuccessCriteriaMet", "Complete"
FAILURE_TARGET, FAILED = "FailureTarget", "Failed"
SUSPENDED = "Suspended"


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How the Job ends. The interim condition says so at once, the final one when no pod is left."""

    failed: bool
    reason: str
    message: str

    @property
    def interim(self) -> str:
        """What the status says while pods are still terminating."""
        return FAILURE_TARGET if self.failed else SUCCESS_CRITERIA_MET

    @property
    def final(self) -> str:
        """What the status says in the end."""
        return FAILED if self.failed else COMPLETE


_REACHED = JobEnd(False, "CompletionsReached", "Reached expected number of succeeded pods")
_BACKOFF = JobEnd(True, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
_DEADLINE = JobEnd(True, "DeadlineExceeded", "Job was active longer than specified deadline")


def decide_end(job: Job, counts: PodCounts, started: dt.datetime | None, now: dt.datetime) -> JobEnd | None:
    """How the Job ends, which stands once it is written; None while the Job runs."""
    for kind in (FAILURE_TARGET, SUCCESS_CRITERIA_MET):
        known = condition(job.status.conditions, kind)
        if known is not None and known.status == "True":
            return JobEnd(kind == FAILURE_TARGET, known.reason, known.message)
    spec = job.spec
    if counts.failed > spec.backoff_limit or _restarted_too_often(job, counts):
        return _BACKOFF
    seconds = spec.active_deadline_seconds
    if started is not None and seconds is not None and times.after(started, seconds) <= now:
        return _DEADLINE
    if counts.active or spec.suspend:
        return None
    enough = counts.succeeded > 0 if spec.completions is None else counts.succeeded >= spec.completions
    return _REACHED if enough else None


def suspension(job: Job, now: dt.datetime) -> list[Condition]:
    """The conditions of before, with whether the Job is suspended; one that never was does not say."""
    before = condition(job.status.conditions, SUSPENDED)
    if job.spec.suspend:
        return _replaced(job, Condition(type=SUSPENDED, status="True", reason="JobSuspended",
                                        message="Job suspended", last_transition_time=now))  # fmt: skip
    if before is None:
        return list(job.status.conditions)
    return _replaced(job, Condition(type=SUSPENDED, status="False", reason="JobResumed",
                                    message="Job resumed", last_transition_time=now))  # fmt: skip


def with_condition(
    conditions: Sequence[Condition], kind: str, end: JobEnd, now: dt.datetime
) -> list[Condition]:
    """The conditions with this one, unless it is there."""
    if condition(conditions, kind) is not None:
        return list(conditions)
    added = Condition(
        type=kind, status="True", reason=end.reason, message=end.message, last_transition_time=now
    )
    return [*conditions, added]


def _replaced(job: Job, wanted: Condition) -> list[Condition]:
    before = job.status.conditions
    known = condition(before, wanted.type)
    if known is not None and known.status == wanted.status:
        return list(before)
    return [*(one for one in before if one.type != wanted.type), wanted]


def _restarted_too_often(job: Job, counts: PodCounts) -> bool:
    """Containers that are restarted in place count against the limit, too."""
    if (job.spec.template.get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        one.restart_count
        for pod in counts.active
        for one in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    return restarts > 0 if job.spec.backoff_limit == 0 else restarts >= job.spec.backoff_limit
