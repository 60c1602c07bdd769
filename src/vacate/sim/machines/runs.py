"""Which pod a run on a machine belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from vacate.nodeagent.recovery import NAMESPACE, POD, UID
from vacate.nodeagent.runtime.protocol import ContainerState


def identity_of(run: ContainerState) -> str:
    """Namespace and name of the pod: what a StatefulSet knows its members by."""
    labels: Mapping[str, str] = run.labels
    return f"{labels.get(NAMESPACE, '')}/{labels.get(POD, '')}"


def uid_of(run: ContainerState) -> str:
    """The pod's uid."""
    return run.labels.get(UID, "")
