"""Events of the ReplicaSet controller."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import REPLICASETS
from vacate.api.types import ReplicaSet


def created(replica_set: ReplicaSet, pod: str) -> EventNote:
    """A pod was made."""
    return EventNote(regarding(REPLICASETS, replica_set), NORMAL, "SuccessfulCreate", f"Created pod: {pod}")


def create_failed(replica_set: ReplicaSet, error: Exception) -> EventNote:
    """A pod could not be made."""
    return EventNote(regarding(REPLICASETS, replica_set), WARNING, "FailedCreate", f"Error creating: {error}")


def deleted(replica_set: ReplicaSet, pod: str) -> EventNote:
    """A pod was deleted."""
    return EventNote(regarding(REPLICASETS, replica_set), NORMAL, "SuccessfulDelete", f"Deleted pod: {pod}")


def delete_failed(replica_set: ReplicaSet, error: Exception) -> EventNote:
    """A pod could not be deleted."""
    return EventNote(regarding(REPLICASETS, replica_set), WARNING, "FailedDelete", f"Error deleting: {error}")
