"""Events of the scheduler."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import PODS
from vacate.api.types import Pod


def scheduled(pod: Pod, node: str) -> EventNote:
    """The pod has a node."""
    meta = pod.metadata
    message = f"Successfully assigned {meta.namespace}/{meta.name} to {node}"
    return EventNote(regarding(PODS, pod), NORMAL, "Scheduled", message)


def failed(pod: Pod, message: str) -> EventNote:
    """The pod has no node, and why."""
    return EventNote(regarding(PODS, pod), WARNING, "FailedScheduling", message)
