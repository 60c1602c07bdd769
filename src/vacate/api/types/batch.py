"""Projections of batch/v1."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from vacate.api.types.meta import Condition, LabelSelector, ObjectMeta, Projection, condition


class JobSpec(Projection, frozen=True):
    """How often which template has to succeed. The template stays a dict: pods are made from all of it."""

    parallelism: int = 1
    completions: int | None = None
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    completion_mode: str = "NonIndexed"
    pod_replacement_policy: str = "TerminatingOrFailed"
    suspend: bool = False
    managed_by: str = ""
    selector: LabelSelector = msgspec.field(default_factory=LabelSelector)
    template: dict[str, Any] = msgspec.field(default_factory=dict)


class UncountedPods(Projection, frozen=True):
    """Pods, by UID, that have ended and are not in the counts yet: some may still have their finalizer."""

    succeeded: list[str] = msgspec.field(default_factory=list)
    failed: list[str] = msgspec.field(default_factory=list)


class JobStatus(Projection, frozen=True):
    """How far a Job is."""

    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    succeeded: int = 0
    failed: int = 0
    start_time: dt.datetime | None = None
    completion_time: dt.datetime | None = None
    uncounted_terminated_pods: UncountedPods | None = None
    conditions: list[Condition] = msgspec.field(default_factory=list)


class Job(Projection, frozen=True, gc=True):
    """A Job."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: JobSpec = msgspec.field(default_factory=JobSpec)
    status: JobStatus = msgspec.field(default_factory=JobStatus)

    @property
    def failure(self) -> Condition | None:
        """Why it has failed, or is about to; None where it has not."""
        return self._condition("Failed") or self._condition("FailureTarget")

    @property
    def complete(self) -> bool:
        """Whether it has succeeded, and all of its pods have terminated."""
        return self._condition("Complete") is not None

    @property
    def finished(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.complete or self._condition("Failed") is not None

    def _condition(self, kind: str) -> Condition | None:
        found = condition(self.status.conditions, kind)
        return found if found is not None and found.status == "True" else None
