"""Events of the DaemonSet controller, in the words of Kubernetes."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import DAEMONSETS
from vacate.api.types import DaemonSet


def created(daemon_set: DaemonSet, pod: str) -> EventNote:
    """A pod was made."""
    return EventNote(regarding(DAEMONSETS, daemon_set), NORMAL, "SuccessfulCreate", f"Created pod: {pod}")


def create_failed(daemon_set: DaemonSet, error: Exception) -> EventNote:
    """A pod could not be made."""
    return EventNote(regarding(DAEMONSETS, daemon_set), WARNING, "FailedCreate", f"Error creating: {error}")


def deleted(daemon_set: DaemonSet, pod: str) -> EventNote:
    """The deletion of a pod has begun."""
    return EventNote(regarding(DAEMONSETS, daemon_set), NORMAL, "SuccessfulDelete", f"Deleted pod: {pod}")


def delete_failed(daemon_set: DaemonSet, error: Exception) -> EventNote:
    """A pod could not be deleted."""
    return EventNote(regarding(DAEMONSETS, daemon_set), WARNING, "FailedDelete", f"Error deleting: {error}")
