"""Options of a deletion."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What the object must be for the deletion to go on; None asks nothing, an empty text matches nothing."""

    uid: str | None = None
    resource_version: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete. None stands for a field that the client left out."""

    grace_period_seconds: int | None = None
    preconditions: Preconditions = Preconditions()
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] = ()
    unsafe: bool | None = None
    reason: str = ""  # why the pod is ended; other kinds take no notice of it

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing must be written."""
        return bool(self.dry_run)
