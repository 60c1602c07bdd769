"""How kinds differ in their deletion: one row each for those that do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vacate.api.kinds import (
    EVENTS,
    JOBS,
    NAMESPACES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    PODTEMPLATES,
    PRIORITYCLASSES,
    SERVICEACCOUNTS,
    STORAGECLASSES,
    Kind,
)
from vacate.api.objects import Obj, dig
from vacate.api.types.core import TERMINAL_PHASES

GracePeriod = Callable[[Obj, int | None], int]
"""The seconds of grace for an object, given what the client asked for."""


@dataclass(frozen=True, slots=True)
class DeletionTraits:
    """What is special about deleting objects of a kind."""

    grace: GracePeriod | None = None
    returns_object: bool = False  # the client gets the removed object, not a Status
    garbage_collected: bool = True  # whether propagation policies mean anything
    orphans: bool = False  # dependents stay unless the client says otherwise
    protected: tuple[str, ...] = ()  # names that nobody may delete
    protection: str = ""  # what to say to those who try


def pod_grace(pod: Obj, asked: int | None) -> int:
    """What the client asks for, else what the pod has; nothing for a pod that runs nowhere."""
    if not dig(pod, "spec", "nodeName") or dig(pod, "status", "phase") in TERMINAL_PHASES:
        return 0
    if asked is not None:
        return asked
    return int(dig(pod, "spec", "terminationGracePeriodSeconds") or 0)


_ORDINARY = DeletionTraits()
_TRAITS: dict[str, DeletionTraits] = {
    PODS.resource: DeletionTraits(grace=pod_grace, returns_object=True),
    SERVICEACCOUNTS.resource: DeletionTraits(returns_object=True),
    PERSISTENTVOLUMES.resource: DeletionTraits(returns_object=True),
    PERSISTENTVOLUMECLAIMS.resource: DeletionTraits(returns_object=True),
    STORAGECLASSES.resource: DeletionTraits(returns_object=True),
    PODTEMPLATES.resource: DeletionTraits(returns_object=True),
    JOBS.resource: DeletionTraits(orphans=True),
    EVENTS.resource: DeletionTraits(garbage_collected=False),
    NAMESPACES.resource: DeletionTraits(
        returns_object=True,
        protected=("default", "kube-system", "kube-public"),
        protection="this namespace may not be deleted",
    ),
    PRIORITYCLASSES.resource: DeletionTraits(
        protected=("system-node-critical", "system-cluster-critical"),
        protection="this is a system priority class and cannot be deleted",
    ),
}


def traits_of(kind: Kind) -> DeletionTraits:
    """The kind's row, or the ordinary one."""
    return _TRAITS.get(kind.resource, _ORDINARY)
