"""Events as values: what happened to which object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vacate.api.kinds import Kind

NORMAL = "Normal"


WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Regarding:
    """Which object an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class EventNote:
    """An Event about an object, before it is written."""

    regarding: Regarding
    type: str  # NORMAL or WARNING
    reason: str
    message: str


def regarding(kind: Kind, obj: Any) -> Regarding:
    """A reference to an object given as a projection with `metadata`."""
    meta = obj.metadata
    return Regarding(kind.api_version, kind.kind, meta.name, meta.namespace, meta.uid, meta.resource_version)
