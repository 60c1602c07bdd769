"""What a turn concludes from the Job that it has made. Pure."""

from __future__ import annotations

import datetime as dt

from vacate.api.text import plain
from vacate.api.types.batch import Job
from vacate.interceptors.decision import Wait
from vacate.interceptors.hooks.decision import Failed, overdue
from vacate.sdk.values import Finished
from vacate.views.phrases import counted

_SHOWN = 300

JobStep = Wait | Finished | Failed


def decide_job(name: str, job: Job | None, now: dt.datetime, deadline: dt.datetime) -> JobStep:
    """Done, failed, or not yet. A Job that is gone before it has ended was stopped by someone."""
    if job is None or job.metadata.deletion_timestamp is not None:
        return Failed(f"Job {name} was deleted before it was complete")
    if job.complete:
        return Finished(f"Job {name} is complete.")
    if (failure := job.failure) is not None:
        why = plain(failure.message, _SHOWN) or failure.reason or "its status gives no reason"
        return Failed(f"Job {name} failed: {plain(why, _SHOWN)}")
    if now >= deadline:
        return overdue(f"Job {name} was not complete", now, deadline)
    status = job.status
    running = f"{counted(status.active, 'pod')} active" if status.active else "no pod is active yet"
    failed = f", {counted(status.failed, 'pod')} failed" if status.failed else ""
    return Wait(f"Job {name}: {running}{failed}.")
