"""Events of the Deployment controller."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import DEPLOYMENTS
from vacate.api.types import Deployment


def scaled(deployment: Deployment, name: str, before: int, after: int) -> EventNote:
    """A replica set got another size."""
    way = "up" if before < after else "down"
    message = f"Scaled {way} replica set {name} from {before} to {after}"
    return EventNote(regarding(DEPLOYMENTS, deployment), NORMAL, "ScalingReplicaSet", message)


def create_failed(deployment: Deployment, message: str) -> EventNote:
    """The replica set of the present template could not be made."""
    return EventNote(regarding(DEPLOYMENTS, deployment), WARNING, "ReplicaSetCreateError", message)


def selects_all(deployment: Deployment) -> EventNote:
    """A selector that means every pod is refused."""
    message = "This deployment is selecting all pods. A non-empty selector is required."
    return EventNote(regarding(DEPLOYMENTS, deployment), WARNING, "SelectingAll", message)
