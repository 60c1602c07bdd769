"""Events of the Job controller, in the words of Kubernetes."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import JOBS
from vacate.api.types import Condition, Job
from vacate.embedded.controllers.job.conditions import COMPLETE, FAILURE_TARGET, SUSPENDED


def indexed(job: Job) -> EventNote:
    """The Job waits for good."""
    message = "The embedded cluster does not run Indexed Jobs. Use completionMode NonIndexed."
    return EventNote(regarding(JOBS, job), WARNING, "CompletionModeNotSupported", message)


def of_condition(job: Job, new: Condition) -> EventNote | None:
    """What a new condition is announced by, if at all."""
    about = regarding(JOBS, job)
    if new.type == COMPLETE:
        return EventNote(about, NORMAL, "Completed", "Job completed")
    if new.type == FAILURE_TARGET:
        return EventNote(about, WARNING, new.reason, new.message)
    if new.type == SUSPENDED:
        return EventNote(about, NORMAL, "Suspended" if new.status == "True" else "Resumed", new.message)
    return None
