"""Projections of batch/v1."""

from __future__ import annotations

import msgspec

from vacate.api.types.meta import Condition, ObjectMeta, Projection, condition


class JobStatus(Projection, frozen=True):
    """How far a Job is."""

    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: list[Condition] = msgspec.field(default_factory=list)


class Job(Projection, frozen=True, gc=True):
    """A Job."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    status: JobStatus = msgspec.field(default_factory=JobStatus)

    @property
    def failure(self) -> Condition | None:
        """Why it has failed, or is about to; None where it has not."""
        return self._condition("Failed") or self._condition("FailureTarget")

    @property
    def complete(self) -> bool:
        """Whether it has succeeded, and all of its pods have ended."""
        return self._condition("Complete") is not None

    @property
    def finished(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.complete or self._condition("Failed") is not None

    def _condition(self, kind: str) -> Condition | None:
        found = condition(self.status.conditions, kind)
        return found if found is not None and found.status == "True" else None
