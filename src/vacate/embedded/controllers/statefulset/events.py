"""Events of the StatefulSet controller, in the words of Kubernetes."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import STATEFULSETS
from vacate.api.types import StatefulSet


def created(stateful_set: StatefulSet, pod: str) -> EventNote:
    """A member was made."""
    return _note(stateful_set, "create", pod)


def create_failed(stateful_set: StatefulSet, pod: str, error: Exception) -> EventNote:
    """A member could not be made."""
    return _note(stateful_set, "create", pod, error)


def deleted(stateful_set: StatefulSet, pod: str) -> EventNote:
    """The deletion of a member has begun."""
    return _note(stateful_set, "delete", pod)


def delete_failed(stateful_set: StatefulSet, pod: str, error: Exception) -> EventNote:
    """A member could not be deleted."""
    return _note(stateful_set, "delete", pod, error)


def _note(stateful_set: StatefulSet, verb: str, pod: str, error: Exception | None = None) -> EventNote:
    name = stateful_set.metadata.name
    about = regarding(STATEFULSETS, stateful_set)
    if error is None:
        message = f"{verb} Pod {pod} in StatefulSet {name} successful"
        return EventNote(about, NORMAL, f"Successful{verb.capitalize()}", message)
    message = f"{verb} Pod {pod} in StatefulSet {name} failed error: {error}"
    return EventNote(about, WARNING, f"Failed{verb.capitalize()}", message)
